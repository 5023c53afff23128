"""Clients for both wire formats, stream assembly, profiles, and the scripted model."""
