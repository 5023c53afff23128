"""What touches the inside of ipykernel and comm to have a widget's messages delivered in time.

A page sends them to a subshell, so that they need not wait for the cell that runs.

| what | since | left alone, a message |
|---|---|---|
| `comm._reply_subshell_for` | ipykernel 7.4 | goes to whichever shell sent last on the comm: main |
| `comm._msg_callback` | comm 0.1 | fires the events of a cell: the running one's figures get lost |

| ipykernel | a message arrives, while the cell awaits | while the cell blocks main |
|---|---|---|
| 7.4 | at once | at once on the subshell's thread; without subshells after the cell |
| 7.0 to 7.3 | at once on the subshell's thread; without subshells after the cell | the same |
| 6 | after the cell | after the cell |
"""

from __future__ import annotations

from typing import Any


def deliver_off_main(comm: Any) -> None:
    """Have a comm's messages arrive on the subshell that the page sends them to, whichever
    thread of ours writes on the comm, and without the events of a cell."""
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, default: default
    callback = getattr(comm, "_msg_callback", None)
    if callback is not None and hasattr(comm, "handle_msg"):
        comm.handle_msg = callback
