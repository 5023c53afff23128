"""What `%load_ext` does: magics and transformers, all thin; the host comes at the first prompt."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython
from IPython.core.magic import no_var_expand

from ..core.errors import UsageError
from . import first_cell
from .channel import Channel
from .command_line import FLAGS
from .compat_tab import on_tab
from .lazy import make_completion, make_host, make_interrupts
from .transformer import ASYNC, SYNC, AwaitedMagic, VerbatimMagic, verbatim_cell, whole_lines

if TYPE_CHECKING:
    from .cell_interrupts import CellInterrupts
    from .completion import Completion
    from .host import Host

ATTRIBUTE = "_shiro_extension"
# Stand-ins at first; the magics themselves come with the host.
MEMORY = ("remember", "recall", "forget")
WITHIN = "A turn is running this code: the extension cannot be unloaded from within it."


def load(shell: Any) -> None:
    if not hasattr(shell, ATTRIBUTE):
        setattr(shell, ATTRIBUTE, Extension(shell))
        first_cell.mend(shell)


def unload(shell: Any) -> None:
    extension = getattr(shell, ATTRIBUTE, None)
    if extension is not None:
        if extension.busy:  # closing would wait for the thread of the turn that waits for us
            raise UsageError(WITHIN)
        delattr(shell, ATTRIBUTE)
        extension.close()


def in_turn() -> bool:
    """Whether a turn runs the code that asks."""
    return bool(getattr(getattr(get_ipython(), ATTRIBUTE, None), "busy", False))


INTERRUPTED = "Interrupted while the agent was loaded: run it again to load the rest."
NO_FOLDER = "The working directory is gone: %cd to one that exists."


def _in_one_sentence(error: BaseException, sentence: str) -> BaseException:
    """The error, which IPython then shows without the traceback through what was loaded."""
    shown = f"{type(error).__name__}: {sentence}"
    error._render_traceback_ = lambda: [shown]  # type: ignore[attr-defined]
    return error


class Extension:
    """The extension in one shell: what it replaced, and the host once there is one."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.channel = Channel(shell)
        self._host: Host | None = None
        self._interrupts: CellInterrupts | None = None
        self._awaited = AwaitedMagic(self._expect_awaited)
        # Newer IPythons load it late, and with it all of its neighbours: a first %history would
        # put IPython's %recall over ours.
        shell.find_line_magic("recall")
        registry = shell.magics_manager.magics
        self._before = {kind: dict(registry[kind]) for kind in registry}
        transforms = shell.input_transformer_manager
        # Ahead of the transformers that strip prompts, since `>>>` may be part of ours; and
        # behind them once more, for a `%%shiro` cell that was pasted with prompts.
        transforms.cleanup_transforms.insert(0, verbatim_cell)
        transforms.line_transforms[:0] = (whole_lines, verbatim_cell)
        transforms.token_transformers.insert(0, VerbatimMagic)
        shell.input_transformers_post.append(self._awaited)
        self._register(self.shiro, "line", SYNC)
        self._register(self.shiro, "cell", SYNC)
        self._register(self.shiro_async, "line", ASYNC)
        self._register(self.shiro_async, "cell", ASYNC)
        self._register(self.todos, "line", "todos")
        for name in MEMORY:
            self._register(self._memory_magic(name), "line", name)
        self._completion: Completion | None = None
        self._end_completion = on_tab(shell, self._completed)

    @property
    def host(self) -> Host:
        if self._host is None:
            try:
                self._host = make_host(self.shell, self.channel)
            except KeyboardInterrupt as error:
                raise _in_one_sentence(error, INTERRUPTED) from None
            except FileNotFoundError as error:
                if error.filename is not None:
                    raise
                raise _in_one_sentence(error, NO_FOLDER) from None
        return self._host

    @property
    def busy(self) -> bool:
        """Whether a turn runs code on the main thread."""
        return self._host is not None and self._host.main.busy

    def close(self) -> None:
        transforms = self.shell.input_transformer_manager
        for chain, ours in (
            (transforms.cleanup_transforms, verbatim_cell),
            (transforms.line_transforms, verbatim_cell),
            (transforms.line_transforms, whole_lines),
            (transforms.token_transformers, VerbatimMagic),
            (self.shell.input_transformers_post, self._awaited),
        ):
            if ours in chain:
                chain.remove(ours)
        self._end_completion()
        if self._interrupts is not None:
            self._interrupts.close()
        self._put_back("line", (SYNC, ASYNC, "todos", *MEMORY))
        self._put_back("cell", (SYNC, ASYNC))
        if self._host is not None:
            self._host.close()
        self.channel.close()  # behind the ends of the turns

    # -- magics --------------------------------------------------------------------------

    def shiro(self, line: str, cell: str | None = None) -> Any:
        return self.host.prompt(line, cell)

    def shiro_async(self, line: str, cell: str | None = None) -> Coroutine[Any, Any, Any]:
        return self.host.prompt_async(line, cell)

    def todos(self, line: str) -> None:
        """Show the task list of this session."""
        self.host.show_todos()

    def _completed(self, before: str) -> tuple[str, Sequence[str]] | None:
        if not any(f"%{name}" in before for name in (SYNC, *MEMORY)):
            return None
        if self._completion is None:
            offers = lambda: self._host.offers if self._host else None  # noqa: E731
            self._completion = make_completion(self.shell, offers)
        return self._completion(before)

    def _expect_awaited(self) -> None:
        self._interrupts = self._interrupts or make_interrupts(self.shell)
        self._interrupts.expect()

    def _memory_magic(self, name: str) -> Callable[[str], Any]:
        def stand_in(line: str) -> Any:
            """Memory of the project; %shiro /help lists its magics."""
            host = self.host
            self._put_back("line", MEMORY)  # IPython's own %recall is what ours builds on
            host.memory_magics.register(self.shell)
            return self.shell.run_line_magic(name, line)

        return stand_in

    def _put_back(self, kind: str, names: tuple[str, ...]) -> None:
        table = self.shell.magics_manager.magics[kind]
        for name in names:
            table.pop(name, None)
            if name in self._before[kind]:
                table[name] = self._before[kind][name]

    def _register(self, function: Callable[..., Any], kind: str, name: str) -> None:
        def magic(*args: str) -> Any:
            return function(*args)

        magic.__doc__ = function.__doc__ or HELP
        magic.__name__ = name
        self.shell.register_magic_function(no_var_expand(magic), kind, name)


HELP = """Ask the agent: %shiro PROMPT, or %%shiro with a prompt of several lines below it.

The prompt is taken as typed. Flags count only before its first word, `--` ends them, and a
final ` &` runs the turn in the background. `%shiro` alone after an error asks to mend it.

{flags}

%shiro /help lists the commands.
""".format(
    flags="\n".join(
        f"  {', '.join(flag.names)}{f' {flag.value}' if flag.value else ''}: {flag.text}"
        for flag in FLAGS
    )
)
