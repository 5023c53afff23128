"""The agent core: knows no Jupyter, reaches the outside only through what is passed in."""
