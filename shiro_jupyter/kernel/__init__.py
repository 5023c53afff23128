"""The host side: IPython magics, the main thread, and the live namespace."""
