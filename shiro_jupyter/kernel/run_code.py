"""Running code in the person's namespace, on the main thread, as a cell of theirs would run.

Streams, displays, figures, the value and the error land in the cell that is running; what the
model reads is kept beside it, bounded. `In`, `Out` and the `_` names stay as they were.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ..core.tools.base import bounded
from ..core.workspace.output import Filter, Unfiltered
from . import compat
from .contexts import carry
from .hold import held, released, without_handler
from .put_back import kept_underscores, replaced
from .tee import Tee
from .tracebacks import traceback_text, words

# Characters of each value, display and traceback that the model reads, and how many of them.
VALUE_LIMIT = 4_000
TRACEBACK_LIMIT = 5_000
SHOWN_LIMIT = 8

# A progress bar writes over its own line again and again; the last state is what is seen.
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\r\n])")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_BARE_OBJECT = re.compile(r"^<[^\n]*>$")
# What a bundle says in words, best first, where its plain text says nothing.
_WORDS = ("text/markdown", "text/latex", "application/json", "text/html")


@dataclass(frozen=True)
class Shown:
    """A value or a display, as text for the model; `images` are the types of its pictures."""

    kind: Literal["value", "display"]
    text: str
    images: tuple[str, ...] = ()

    def __str__(self) -> str:
        label = "value" if self.kind == "value" else "shown to the person"
        picture = f" [{', '.join(self.images)}]" if self.images else ""
        return f"{label}:{chr(10) if chr(10) in self.text else ' '}{self.text}{picture}"


@dataclass(frozen=True)
class CodeResult:
    """What came of running a piece of code. All texts are bounded.

    `ok` is false where the code raised; `interrupted` where it was stopped. `log` is the file
    that holds all output where the texts do not.
    """

    ok: bool
    interrupted: bool = False
    stdout: str = ""
    stderr: str = ""
    shown: tuple[Shown, ...] = ()
    unshown: int = 0  # displays beyond the limit, which only the person saw
    traceback: str = ""
    log: str = ""
    pictures: tuple[str, ...] = ()  # keys of those that no cell shows
    value: Any = None  # the objects themselves, for who tells of them in other words
    error: BaseException | None = None

    def text(self) -> str:
        """What the model reads."""
        parts = [self.stdout.rstrip("\n")]
        if self.stderr.strip():
            parts.append(f"stderr:\n{self.stderr.rstrip(chr(10))}")
        parts += map(str, self.shown)
        if self.unshown:
            parts.append(f"[… {self.unshown:,} more shown to the person …]")
        parts.append("" if self.interrupted else self.traceback)
        text = "\n".join(part for part in parts if part)
        return text or ("" if self.interrupted else "Done; it printed nothing and has no value.")


class Live(Protocol):
    """The live kernel, as its tools see it; used on the agent's loop."""

    async def run(
        self, code: str, output: Callable[[str], None], *, first: Callable[[], None]
    ) -> CodeResult:
        """Run code on the main thread. `output` is told what it prints, on any thread; `first` is
        called on main before it, and what that raises is raised here."""

    def interrupt(self) -> None:
        """Stop the code that `run` runs, or drop it where it has not begun; returns at once."""


def _nothing(*args: Any, **kwargs: Any) -> None:
    """In the place of a hook that would number or store the value."""


async def run_on_main(
    shell: Any,
    code: str,
    output: Callable[[str], None],
    cleared: Callable[[], None] = _nothing,
    shown: Callable[[Any], object] = _nothing,
    passes: Callable[[], Filter] = Unfiltered,
) -> CodeResult:
    """Run code on the main thread, in a task of the running event loop: top-level await works.

    `output` is told what it prints, `cleared` when it has the cell's output cleared, `shown`
    each bundle that it displays; what is kept of it goes through a filter that `passes` makes.

    An interrupt is a KeyboardInterrupt raised in that task, or its cancellation; either is
    answered by a result that says so.
    """
    job = _Job(shell, code, output, cleared, shown, passes)
    with job.guarded():
        if job.awaits():
            await job.execute()
        else:
            job.step_through()
    return job.outcome()


def run_on_main_sync(
    shell: Any,
    code: str,
    output: Callable[[str], None],
    cleared: Callable[[], None] = _nothing,
    shown: Callable[[Any], object] = _nothing,
    passes: Callable[[], Filter] = Unfiltered,
) -> CodeResult:
    """Run code on the main thread where the caller cannot await.

    Code with a top-level await gets an event loop of its own.
    """
    job = _Job(shell, code, output, cleared, shown, passes)
    with job.guarded():
        if job.awaits():
            context = contextvars.copy_context()
            with compat.loop_inside() as loop:
                _finish(loop, loop.create_task(job.execute(), context=context))
            carry(context)
        else:
            job.step_through()
    return job.outcome()


def _finish(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    try:
        loop.run_until_complete(task)
    except KeyboardInterrupt:  # it came while the code was awaiting
        task.cancel()
        loop.run_until_complete(task)


class _Job:
    """One piece of code on its way through the shell, and what it leaves behind."""

    def __init__(
        self,
        shell: Any,
        code: str,
        output: Callable[[str], None],
        cleared: Callable[[], None],
        shown: Callable[[Any], object],
        passes: Callable[[], Filter],
    ) -> None:
        self._shell, self._code = shell, code
        self._cleared, self._tell_shown = cleared, shown
        self._tee = Tee(output, passes=passes)
        self._shown: list[Shown] = []
        self._unshown, self._traceback = 0, ""
        self._result: Any = None
        self._error: BaseException | None = None  # that the shell has let by
        self._interrupted = False
        self._transformed, self._broken = code, None

    def awaits(self) -> bool:
        """Whether the code awaits at its top level; asked once, before it runs."""
        with released():
            self._transformed, self._broken = self._transform()
            return bool(
                self._shell.should_run_async(
                    self._code,
                    transformed_cell=self._transformed,
                    preprocessing_exc_tuple=self._broken,
                )
            )

    def _transform(self) -> tuple[str, Any]:
        try:
            return self._shell.transform_cell(self._code), None
        except (Exception, SystemExit):  # a transformer's; `run_cell_async` shows it
            return self._code, sys.exc_info()

    # -- running -------------------------------------------------------------------------

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """An interrupt that arrives outside the code itself is held back, and ends here too:
        it would leave our hooks in the shell, or end the kernel's event loop."""
        try:
            with held(), self._installed():
                yield
        except (KeyboardInterrupt, asyncio.CancelledError):
            self._interrupted = True

    def step_through(self) -> None:
        """Run code that awaits nothing, without giving the event loop a turn."""
        coroutine = self.execute()
        try:
            coroutine.send(None)
        except StopIteration:
            pass
        finally:
            coroutine.close()

    async def execute(self) -> None:
        """As `shell.run_cell`, which cannot be used: it stops inside a running loop, and keeps
        all output in the history."""
        with released():
            try:
                await self._execute()
            except (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit):
                raise
            except BaseException as error:  # SystemExit ends the event loop of whoever lets it by
                self._error = error
                self._shell.showtraceback()

    async def _execute(self) -> None:
        try:
            self._result = await self._shell.run_cell_async(
                self._code,
                store_history=False,
                transformed_cell=self._transformed,
                preprocessing_exc_tuple=self._broken,
            )
        finally:
            self._tee.put_in()
            self._shell.events.trigger("post_execute")  # flushes figures
            if self._result is not None:
                self._shell.events.trigger("post_run_cell", self._result)

    def outcome(self) -> CodeResult:
        while True:
            try:
                with held():
                    return self._outcome()
            except KeyboardInterrupt:  # it came when the code had ended
                self._interrupted = True

    def _outcome(self) -> CodeResult:
        error = self._error
        if error is None and self._result is not None:
            error = self._result.error_before_exec or self._result.error_in_exec
        interrupted = self._interrupted or isinstance(
            error, KeyboardInterrupt | asyncio.CancelledError
        )
        failed = interrupted or error is not None or self._result is None
        log = self._tee.log_path
        return CodeResult(
            ok=not failed,
            interrupted=interrupted,
            stdout=_as_seen(self._tee.kept["stdout"].text(log)),
            stderr=_as_seen(self._tee.kept["stderr"].text(log)),
            shown=tuple(self._shown),
            unshown=self._unshown,
            traceback=self._traceback if failed else "",
            log=log,
            value=self._result.result if self._result else None,
            error=error,
        )

    # -- listening -----------------------------------------------------------------------

    @contextmanager
    def _installed(self) -> Iterator[None]:
        """The shell's own hooks, told to us while the code runs."""
        shell, hook = self._shell, self._shell.displayhook
        with ExitStack() as stack:
            stack.enter_context(compat.kept_error_state(shell))
            # Where the cell's own value goes; the shell sets it to None after each run.
            stack.callback(setattr, hook, "exec_result", hook.exec_result)
            stack.enter_context(kept_underscores(shell))
            stack.enter_context(self._tee.installed())
            publish, traceback = shell.display_pub.publish, compat.TRACEBACK_HOOK
            for target, name, replacement in (
                (shell.display_pub, "publish", self._publish(publish)),
                (shell.display_pub, "clear_output", self._clear(shell.display_pub.clear_output)),
                (shell, "ask_exit", _refuse_exit),
                (shell, "showtraceback", self._trimmed(shell.showtraceback)),
                (shell, traceback, self._show_traceback(getattr(shell, traceback, _nothing))),
                # `%%capture` around the cell has put one there that tells nobody of the value.
                (sys, "displayhook", hook),
                (hook, "write_format_data", self._show_value(publish)),
                # The value is a display of the running cell, no numbered output.
                (hook, "quiet", self._quiet),
                (hook, "write_output_prompt", _nothing),
                (hook, "update_user_ns", _nothing),
                (hook, "log_output", _nothing),
            ):
                stack.enter_context(replaced(target, name, replacement))
            yield

    def _quiet(self) -> bool:
        """IPython's own looks at the newest input, which is the cell and not this code."""
        return bool(self._shell.displayhook.semicolon_at_end_of_expression(self._transformed))

    def _add(self, kind: Literal["value", "display"], data: Any) -> None:
        self._tell_shown(data)
        if kind == "value" or len(self._shown) < SHOWN_LIMIT:
            self._shown.append(_described(kind, data))
        else:
            self._unshown += 1

    def _publish(self, publish: Callable[..., None]) -> Callable[..., None]:
        def published(data: Any, *args: Any, **kwargs: Any) -> None:
            if kwargs.get("update") or not self._tee.takes():
                pass  # what was shown before in another form, or another thread's
            else:
                self._add("display", data)
            with self._tee.unkept():  # a terminal prints it
                publish(data, *args, **kwargs)

        return published

    def _clear(self, clear: Callable[..., None]) -> Callable[..., None]:
        def cleared(*args: Any, **kwargs: Any) -> None:
            clear(*args, **kwargs)
            if self._tee.takes():
                self._cleared()

        return cleared

    def _show_value(self, publish: Callable[..., None]) -> Callable[..., None]:
        def shown(data: Any, metadata: Any = None) -> None:
            self._add("value", data)
            with self._tee.unkept():
                publish(data, metadata)

        return shown

    def _trimmed(self, show: Callable[..., None]) -> Callable[..., None]:
        def shown(*args: Any, **kwargs: Any) -> None:
            error = sys.exception()
            without_handler(error)
            self._tee.put_in()
            try:
                show(*args, **kwargs)
            except KeyboardInterrupt:
                raise
            except BaseException:  # of code of theirs that words the error
                assert error is not None
                lines = traceback_text(error).split("\n")
                getattr(self._shell, compat.TRACEBACK_HOOK)(type(error), error, lines)

        return shown

    def _show_traceback(self, show: Callable[..., None]) -> Callable[..., None]:
        def shown(kind: Any, value: Any, lines: Any) -> None:
            text = _ANSI.sub("", "\n".join(map(str, lines)))
            self._traceback = bounded(text, TRACEBACK_LIMIT)
            with self._tee.unkept():
                show(kind, words(value), lines)

        return shown


def _as_seen(text: str) -> str:
    return _OVERWRITTEN.sub("", _ANSI.sub("", text).replace("\r\n", "\n"))


def _refuse_exit() -> None:
    """What `exit()` and `quit()` call: the session is the person's to end."""
    raise SystemExit("exit() ends this code, not the session")


def _described(kind: Literal["value", "display"], data: Any) -> Shown:
    plain = str(data.get("text/plain", ""))
    if not plain or _BARE_OBJECT.match(plain):
        plain = next((str(data[mime]) for mime in _WORDS if mime in data), plain)
    images = tuple(mime for mime in data if mime.startswith("image/"))
    return Shown(kind, bounded(_ANSI.sub("", plain), VALUE_LIMIT), images)
