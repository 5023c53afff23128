"""From the transcript to what goes on the wire: pure functions, values to values."""
