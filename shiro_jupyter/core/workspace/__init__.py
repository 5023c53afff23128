"""The only room that touches files and processes."""
