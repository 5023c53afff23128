"""Renderings of the event list: terminal text, cell output, and what is left behind."""
