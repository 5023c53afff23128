"""Session notes: one Markdown document a session of what is happening now."""
