"""job_status: what has become of a job."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..policy.subjects import Access
from ..workspace.jobs import Job
from ..workspace.processes import Processes
from ..workspace.threads import in_thread
from .base import Parameters, Tool, ToolContext, ToolResult

COMMAND_SHOWN = 200


class JobStatusParameters(Parameters):
    id: int = Field(0, ge=0, description="Its number; 0 lists all jobs.")


class JobStatus(Tool[JobStatusParameters]):
    """See whether a job still runs, and what it has written since you last looked."""

    name: ClassVar[str] = "job_status"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Access] = "session"
    polls: ClassVar[bool] = True
    shows_output: ClassVar[bool | None] = True
    parameters = JobStatusParameters

    def summary(self, parameters: JobStatusParameters) -> str:
        return f"job {parameters.id}" if parameters.id else "all jobs"

    async def run(self, parameters: JobStatusParameters, context: ToolContext) -> ToolResult:
        jobs = context.processes.jobs
        if parameters.id:
            job = jobs.find(parameters.id)
            return ToolResult("ok", await job_text(job, context.processes))
        lines = [await job_line(job, context.processes) for job in jobs]
        return ToolResult("ok", "\n".join(lines) or "No job was started.")


async def job_line(job: Job, processes: Processes) -> str:
    """Number, state and command on one line."""
    state = job.state
    if job.over.is_set() and await in_thread(processes.goes_on, job):
        state += "; what it started goes on"
    command = " ".join(job.command.split())
    shown = command if len(command) <= COMMAND_SHOWN else f"{command[:COMMAND_SHOWN]}…"
    return f"job {job.id}, {state}: {shown}"


async def job_text(job: Job, processes: Processes) -> str:
    """Its state, its output since the last look, and where all of that is."""
    line = await job_line(job, processes)
    output = job.look().rstrip("\n") or "[no new output]"
    return "\n".join((line, output, *([f"[{job.told}]"] if job.told else [])))
