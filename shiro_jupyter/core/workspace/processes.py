"""Child processes: each in its own group, ended as a tree."""

from __future__ import annotations


class Processes:
    """Starts children and ends them; a host ends all of them at exit."""

    def end_all(self) -> None: ...
