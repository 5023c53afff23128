"""The registry and one file per tool."""
