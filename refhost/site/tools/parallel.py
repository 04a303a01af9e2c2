"""Starts calls beside each other and waits for them, or waits for or cancels those that were started before."""

from __future__ import annotations

import json
from typing import Any

from helpers import parallel_tools
from helpers.tool import Response, Tool


class Parallel(Tool):
    async def before_execution(self, **kwargs: Any) -> None:
        self.log: Any = None

    async def after_execution(self, response: Response, **kwargs: Any) -> None:
        self.agent.hist_add_tool_result(self.name, response.message, **(response.additional or {}))

    async def execute(self, **kwargs: Any) -> Response:
        args = {**self.args, **kwargs}
        job_ids = [str(job_id) for job_id in args.get("job_ids") or []]
        try:
            if args.get("action") == "cancel":
                return _told(await parallel_tools.cancel_parallel_jobs(self.agent, job_ids))
            calls = parallel_tools.normalize_parallel_tool_calls(args.get("tool_calls") or [])
            started = await parallel_tools.start_parallel_jobs(self.agent, calls)
            if args.get("wait") is False and not job_ids:
                return _told([{"job_id": job.id, "tool_name": job.tool_name, "state": job.state} for job in started])
            timeout = int(args.get("timeout") or parallel_tools.DEFAULT_TIMEOUT_SECONDS)
            wanted = [*job_ids, *(job.id for job in started)]
            return _told(await parallel_tools.await_parallel_jobs(self.agent, wanted, timeout=timeout, wait=args.get("wait") is not False))
        except ValueError as error:
            return Response(message=f"Error: {error}", break_loop=False)


def _told(jobs: list[dict[str, Any]]) -> Response:
    return Response(message=json.dumps({"jobs": jobs}), break_loop=False)
