"""bash: a command in a shell of its own."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..policy.subjects import Access, Subject
from ..transcript import Outcome
from ..workspace.processes import Completed
from ..workspace.trees import ending
from .base import INPUT_LIMIT, OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult
from .job_status import job_text

# Room for the lines that say how the command ended.
KEPT = OUTPUT_LIMIT - 1_000


class BashParameters(Parameters):
    command: str = Field(min_length=1, max_length=INPUT_LIMIT, description="The command line.")
    timeout: int = Field(120, ge=1, le=600, description="Seconds until it is ended.")
    background: bool = Field(False, description="Run it as a job, which has no timeout.")


class Bash(Tool[BashParameters]):
    """Run a shell command in the project folder.

    Nothing can be typed into it, and each call is a new shell: `cd` and variables do not
    carry over. Output over 29,000 characters is cut in the middle; all of it is then in a file.
    A server, or what takes long, runs in the background: a job, which goes on after the call;
    see job_status and job_stop.
    """

    name: ClassVar[str] = "bash"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Access] = "shell"
    parameters = BashParameters

    def summary(self, parameters: BashParameters) -> str:
        return parameters.command

    def subject(self, parameters: BashParameters, context: ToolContext) -> Subject:
        texts = (parameters.command,)
        if not parameters.background:
            return Subject(self.name, self.access, texts, title="Run this command?")
        return Subject(
            self.name,
            self.access,
            texts,
            title="Run this command in the background? It stays running until it ends by itself, "
            "is stopped (%shiro /jobs) or the kernel ends.",
            # No command holds a NUL: what may run may not also stay.
            grant=f"\0{parameters.command}",
        )

    async def run(self, parameters: BashParameters, context: ToolContext) -> ToolResult:
        if parameters.background:
            job = await context.processes.start_job(parameters.command, cwd=context.project.root)
            outcome: Outcome = "failed" if job.child.exit_code else "ok"
            return ToolResult(outcome, await job_text(job, context.processes))
        done = await context.processes.run(
            context.processes.shell(parameters.command),
            cwd=context.project.root,
            timeout=parameters.timeout,
            output=context.output,
            limit=KEPT,
        )
        outcome = "failed" if done.exit_code else "ok"
        if done.timed_out:
            outcome = "timed_out"
        return ToolResult(outcome, _text(done, parameters.timeout))


def _text(done: Completed, timeout: int) -> str:
    """The output, and how the command ended where that is not plain success."""
    output = done.output.rstrip("\n")
    how = ""
    if done.timed_out:
        how = (
            f"[not done after {timeout} s: ended, with what could be found of what it started; "
            "give a longer timeout (up to 600) or do less at once]"
        )
    elif done.exit_code:
        how = f"[{ending(done.exit_code)}]"
    return "\n".join(part for part in (output, how) if part) or "[no output, exit code 0]"
