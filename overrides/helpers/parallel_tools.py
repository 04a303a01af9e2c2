"""helpers.parallel_tools: each job of `parallel` is a run of its own, also after a restart.

Why hooks are not enough: the module has no extension points, its jobs live in memory only,
and an error of a job becomes its result. All of these are looked up on the module at each call.

`_new_job_id`: a job that was recorded keeps its name. `start_parallel_jobs`: what is started is
recorded first. `_run_direct_tool_job`, `_run_subordinate_context_job`: a job goes on where its
record ends, and its end is recorded. `await_parallel_jobs`, `cancel_parallel_jobs`: a name that
was known before a restart is known after it; a wait does not run out while a person decides.
"""


def _new_job_id(original, tool_name):
    return journaled.job_name() or original(tool_name)  # noqa: F821 - passed in


async def start_parallel_jobs(original, agent, calls):
    return await journaled.start_jobs(original, agent, calls)  # noqa: F821


async def _run_direct_tool_job(original, parent_context_id, job):
    return await journaled.run_job(original, parent_context_id, job)  # noqa: F821


async def _run_subordinate_context_job(original, parent_context_id, job):
    return await journaled.run_job(original, parent_context_id, job)  # noqa: F821


async def await_parallel_jobs(original, agent, job_ids, timeout=300, *, collect=True, wait=True):
    return await journaled.await_jobs(original, agent, job_ids, timeout, collect=collect, wait=wait)  # noqa: F821


async def cancel_parallel_jobs(original, agent, job_ids):
    return await journaled.cancel_jobs(original, agent, job_ids)  # noqa: F821
