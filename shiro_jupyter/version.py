"""The version, where nothing has to be looked up for it."""

VERSION = "0.1.0"
