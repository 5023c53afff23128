"""bash: a command in a shell of its own."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..policy.subjects import Access, Subject
from ..transcript import Outcome
from ..workspace.processes import Completed
from .base import INPUT_LIMIT, OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult

# Room for the lines that say how the command ended.
KEPT = OUTPUT_LIMIT - 1_000


class BashParameters(Parameters):
    command: str = Field(min_length=1, max_length=INPUT_LIMIT, description="The command line.")
    timeout: int = Field(120, ge=1, le=600, description="Seconds until it is ended.")


class Bash(Tool[BashParameters]):
    """Run a shell command in the project folder.

    Nothing can be typed into it, and each call is a new shell: `cd` and variables do not
    carry over. Output over 29,000 characters is cut in the middle; all of it is then in a file.
    """

    name: ClassVar[str] = "bash"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Access] = "shell"
    parameters = BashParameters

    def summary(self, parameters: BashParameters) -> str:
        return parameters.command

    def subject(self, parameters: BashParameters, context: ToolContext) -> Subject:
        return Subject(self.name, self.access, (parameters.command,), title="Run this command?")

    async def run(self, parameters: BashParameters, context: ToolContext) -> ToolResult:
        done = await context.processes.run(
            context.processes.shell(parameters.command),
            cwd=context.project.root,
            timeout=parameters.timeout,
            output=context.output,
            limit=KEPT,
        )
        outcome: Outcome = "failed" if done.exit_code else "ok"
        if done.timed_out:
            outcome = "timed_out"
        return ToolResult(outcome, _text(done, parameters.timeout))


def _text(done: Completed, timeout: int) -> str:
    """The output, and how the command ended where that is not plain success."""
    output = done.output.rstrip("\n")
    ending = ""
    if done.timed_out:
        ending = (
            f"[not done after {timeout} s: ended, with everything it had started; give a longer "
            "timeout (up to 600) or do less at once]"
        )
    elif done.exit_code is not None and done.exit_code < 0:
        ending = f"[ended by signal {-done.exit_code}]"
    elif done.exit_code:
        ending = f"[exit code {done.exit_code}]"
    return "\n".join(part for part in (output, ending) if part) or "[no output, exit code 0]"
