"""job_stop: end a job with what it started."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..policy.subjects import Access
from .base import Parameters, Tool, ToolContext, ToolResult
from .job_status import job_text


class JobStopParameters(Parameters):
    id: int = Field(description="Its number.")


class JobStop(Tool[JobStopParameters]):
    """End a job, with what can be found of all that it started."""

    name: ClassVar[str] = "job_stop"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Access] = "job"
    parameters = JobStopParameters

    def summary(self, parameters: JobStopParameters) -> str:
        return f"job {parameters.id}"

    async def run(self, parameters: JobStopParameters, context: ToolContext) -> ToolResult:
        job = context.processes.jobs.find(parameters.id)
        await context.processes.end_job(job)
        return ToolResult("ok", await job_text(job, context.processes))
