"""A notebook file: its cells, how they are shown, and edits that leave the rest as it is."""
