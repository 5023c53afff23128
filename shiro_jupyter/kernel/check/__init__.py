"""Does a notebook re-run? A forecast from its text, then the proof in a fresh kernel."""
