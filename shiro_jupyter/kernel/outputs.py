"""What code shows while it runs, taken as the outputs of a cell in a notebook."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, cast

from . import compat
from .put_back import replaced

Output = dict[str, Any]


class Outputs:
    """Streams, displays and errors in their order, as a notebook file has them."""

    def __init__(self) -> None:
        self.listed: list[Output] = []
        self._named: dict[str, Output] = {}  # by the id of the display
        self._clear_next = False
        self.ended = False

    @contextmanager
    def taken(self, shell: Any) -> Iterator[None]:
        """From what the shell shows meanwhile; on main. What a tee over it holds back is not
        taken either."""
        publisher = shell.display_pub
        with ExitStack() as stack:
            stack.callback(self._end)
            stack.enter_context(redirect_stdout(cast(Any, _Stream(self, "stdout", sys.stdout))))
            stack.enter_context(redirect_stderr(cast(Any, _Stream(self, "stderr", sys.stderr))))
            stack.enter_context(replaced(publisher, "publish", self.show))
            stack.enter_context(replaced(publisher, "clear_output", self.clear))
            stack.enter_context(replaced(shell, compat.TRACEBACK_HOOK, self.fail))
            yield

    def write(self, name: str, text: str) -> None:
        if not text:
            return
        self._begin()
        last = self.listed[-1] if self.listed else {}
        if last.get("name") == name:
            last["text"] += text
        else:
            self.listed.append({"output_type": "stream", "name": name, "text": text})

    def show(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **_: Any,
    ) -> None:
        _flush()
        named = str((transient or {}).get("display_id") or "")
        if update:
            if shown := self._named.get(named):
                shown.update(data=_stored(data), metadata=metadata or {})
            return
        self._begin()
        # The value, too: it is in no `Out`.
        shown = {"output_type": "display_data", "data": _stored(data), "metadata": metadata or {}}
        self.listed.append(shown)
        if named:
            self._named[named] = shown

    def clear(self, wait: bool = False) -> None:
        _flush()
        self._clear_next = True
        if not wait:
            self._begin()

    def fail(self, kind: type[BaseException], value: BaseException, lines: list[str]) -> None:
        _flush()
        self._begin()
        told = {"ename": kind.__name__, "evalue": str(value), "traceback": [*map(str, lines)]}
        self.listed.append({"output_type": "error", **told})

    def _end(self) -> None:
        self.ended = True

    def _begin(self) -> None:
        if self._clear_next:
            self.listed.clear()
            self._named.clear()
            self._clear_next = False


def _flush() -> None:
    """What was printed before comes before, though a tee holds it back for a moment."""
    sys.stdout.flush()
    sys.stderr.flush()


class _Stream:
    """For all but what is written, the stream under it; a thread that outlives the code writes
    there, too."""

    def __init__(self, outputs: Outputs, name: str, under: Any) -> None:
        self._outputs, self._name, self._under = outputs, name, under

    def write(self, text: str) -> int:
        if self._outputs.ended:
            return int(self._under.write(text))
        self._outputs.write(self._name, text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)


def _stored(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        mime: base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for mime, value in data.items()
    }
