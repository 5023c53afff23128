"""Session state and its append-only log."""
