"""Deliberate faults, one at a time, and what must notice each of them.

One entry is a file, its text, the faulty text, and the tests; a `case` is a kill of tests/points, which is played as a
test too. An entry whose text is no longer in its file is an error: the code changed, and the entry must follow it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    also: tuple[tuple[str, str], ...] = ()  # further texts of the file, where two places keep one promise

    @property
    def changes(self) -> tuple[tuple[str, str], ...]:
        return ((self.old, self.new), *self.also)


RECOVERY, CALLS, DECISIONS = "tests/unit/test_recovery.py", "tests/unit/test_calls.py", "tests/unit/test_decisions.py"
BODIES, RETENTION, RESTORED = "tests/store/test_bodies.py", "tests/store/test_retention.py", "tests/store/test_restored.py"
COMMANDS, LOOPS = "tests/store/test_command_line.py", "tests/recovery/test_crash_loops.py"
REPLIES = "tests/bridge/test_deliveries.py"
CHAIN = "tests/bridge/test_subordinate_life.py"
SCHEDULED, PROGRAMS, QUEUE = "tests/bridge/test_scheduled.py", "tests/bridge/test_programs.py", "tests/bridge/test_queue.py"
STEPS, SUSPENDED = "tests/unit/test_steps.py", "tests/crash/test_suspended.py"
BETWEEN = "tests/bridge/test_moments_between.py"
CHILDREN = "tests/unit/test_children.py"
DOCUMENTS = "tests/unit/test_documents.py"
ADMISSION, STATES, STORE = "tests/unit/test_admission.py", "tests/unit/test_run_states.py", "tests/store/test_sqlite.py"

MUTANTS = (
    # -- child runs -----------------------------------------------------------------------------
    Mutant(
        "a Stop leaves the jobs of its run at work",
        "journal/children.py",
        '    for row in scribe.tx.all("unfinished_below", run_id=run_id):\n        runs.stop(scribe, row["run_id"], OF_PARENT, "")\n',
        "",
        tests=(f"{CHILDREN}::test_stop_of_the_root_stops_what_has_not_ended_below_it",),
    ),
    Mutant(
        "a call that runs again starts its jobs anew",
        "journal/children.py",
        "    child = known.get(input_id)\n",
        "    child = None\n",
        tests=(f"{CHILDREN}::test_the_same_call_finds_what_it_started_under_the_name_it_had",),
    ),
    Mutant(
        "an older life of the parent starts jobs",
        "journal/children.py",
        "    runs.enter(scribe, run_id, token)\n",
        "",
        tests=(f"{CHILDREN}::test_an_older_life_of_the_parent_starts_nothing",),
    ),
    Mutant(
        "a Stop of a job takes the messages of its chat",
        "journal/sql/sqlite/inputs.sql",
        "                    where r.chat_id = :chat_id and r.parent_call_id is null and r.state in ('queued', 'running', 'held'))",
        "                    where false)",
        tests=(f"{CHILDREN}::test_stop_of_a_child_leaves_its_parent_and_what_waits_for_it",),
    ),
    # -- documents ------------------------------------------------------------------------------
    Mutant(
        "a stale write overwrites what is stored",
        "journal/documents.py",
        '    if head is None or head["revision"] == draft.expected:\n        return _add(scribe, draft, draft.expected + 1, run_id)\n',
        '    if head is None or head["revision"] >= draft.expected:\n'
        '        return _add(scribe, draft, (head["revision"] if head else draft.expected) + 1, run_id)\n',
        tests=(f"{DOCUMENTS}::test_a_stale_write_changes_nothing_and_is_kept",),
    ),
    Mutant(
        "a stale write is refused and not kept",
        "journal/documents.py",
        '    scribe.tx.change("add_conflict", **facts,',
        "    dict(**facts,",
        tests=(f"{DOCUMENTS}::test_a_stale_write_changes_nothing_and_is_kept",),
    ),
    Mutant(
        "a call that is submitted again writes its document again",
        "journal/documents.py",
        "    if call.result_digest in (ends.saved.digest, ends.stale.digest):\n        return call\n",
        "    write(scribe, draft, call.run_id)\n",
        tests=(f"{DOCUMENTS}::test_the_same_submission_again_writes_once",),
    ),
    Mutant(
        "a run that was stopped still writes its document",
        "journal/documents.py",
        "    if call.result_digest is not None or calls.is_late(scribe, call):\n",
        "    if call.result_digest is not None:\n",
        tests=(f"{DOCUMENTS}::test_nothing_is_written_for_a_run_that_was_stopped",),
    ),
    Mutant(
        "a conflict is settled over a newer revision",
        "journal/documents.py",
        '    if head["revision"] != expected:\n',
        '    if head["revision"] < expected:\n',
        tests=(f"{DOCUMENTS}::test_settling_what_changed_since_it_was_shown_is_refused_and_changes_nothing",),
    ),
    Mutant(
        "what an open conflict began with is thrown away",
        "journal/sql/sqlite/documents.sql",
        "   and revision not in (select base from conflicts where document_id = :document_id and state = 'open')\n",
        "",
        tests=(f"{DOCUMENTS}::test_old_revisions_go_except_what_a_conflict_is_about",),
    ),
    # -- before and after an effect -------------------------------------------------------------
    Mutant(
        "the effect comes before its intent",
        "bridge/tool_calls.py",
        "    key, response = session.position.begin_tool_call(path)",
        "    early = await execute(**kwargs)\n\n    async def execute(**_: Any) -> Any:\n        return early\n\n"
        "    key, response = session.position.begin_tool_call(path)",
        cases=("tool/begin_call.tool.asked:1",),
    ),
    Mutant(
        "a result is not recorded",
        "bridge/tool_calls.py",
        "    await session.finish(step.call, Outcome.OK, _kept(tool, response, before), extra={})\n    return response\n",
        "    return response\n",
        cases=("tool/begin_call.model.asked:2",),
    ),
    Mutant(
        "a result is not waited for",
        "bridge/session.py",
        "            await waiting.durable(\n"
        "                lambda: journal.finish_call(call.call_id, outcome, value, usage=usage, extra=extra),\n"
        "                self.note_store,\n"
        "                large=waiting.is_large(value, extra),\n"
        "            )\n",
        "            journal.finish_call(call.call_id, outcome, value, usage=usage, extra=extra)\n",
        tests=("tests/bridge/test_store_trouble.py::test_a_result_that_cannot_be_saved_is_kept_and_saved_later",),
    ),
    Mutant(
        "what is written is not synced",
        "journal/store/connections.py",
        '''f"synchronous = {'full' if mode is Mode.WAL else 'extra'}"''',
        '"synchronous = off"',
        (STORE + "::test_the_connections_are_set_up_as_promised",),
    ),
    Mutant(
        "what is written is synced at some later time",
        "journal/store/connections.py",
        '''f"synchronous = {'full' if mode is Mode.WAL else 'extra'}"''',
        '"synchronous = normal"',
        (STORE + "::test_the_connections_are_set_up_as_promised",),
    ),
    Mutant(
        "a future is resolved before COMMIT",
        "journal/store/writer.py",
        '        try:\n            connection.execute("COMMIT")',
        "        for job in batch:\n            job.resolve()\n            job.future = type(job.future)()\n"
        '        try:\n            connection.execute("COMMIT")',
        ("tests/store/test_announced.py",),
    ),
    Mutant(
        "an error of COMMIT is taken for not committed",
        "journal/store/writer.py",
        "            if not self._found_after_all(number, transaction.last):\n                raise failure from error\n",
        "            raise failure from error\n",
        (STORE + "::test_what_is_found_after_an_error_of_commit_is_the_answer",),
    ),
    Mutant(
        "an error of COMMIT is taken for committed",
        "journal/store/writer.py",
        "            if not self._found_after_all(number, transaction.last):\n                raise failure from error\n",
        "            self._handle.let_go()\n",
        (STORE + "::test_what_is_found_after_an_error_of_commit_is_the_answer",),
    ),
    Mutant(
        "a refused operation takes its neighbours with it",
        "journal/store/jobs.py",
        "        except Exception as error:\n"
        "            # The rules said no, or an operation is wrong: its own writes go, the others' stay.\n"
        "            self.outcome = _Failed(error)",
        "        except Exception:\n            raise",
        (
            STORE + "::TestSqliteStore::test_a_refusal_undoes_its_own_operation_alone",
            STORE + "::TestSqliteStore::test_a_mistake_in_an_operation_harms_no_other",
        ),
    ),
    Mutant(
        "what a refused operation wrote stays",
        "journal/store/jobs.py",
        '            connection.execute("ROLLBACK TO operation")\n',
        "            pass\n",
        (STORE + "::TestSqliteStore::test_a_refusal_undoes_its_own_operation_alone",),
    ),
    Mutant(
        "a replaced journal is written on",
        "journal/store/files.py",
        "            if _identity(path) != before:",
        "            if False:",
        (STORE + "::test_a_file_that_is_changed_under_the_open_journal_closes_it",),
    ),
    Mutant(
        "a new journal has its name before it is whole",
        "journal/store/files.py",
        "        sync(self.fresh)\n        self.fresh.rename(self.journal)",
        "        self.fresh.rename(self.journal)\n        sync(self.journal)",
        ("tests/store/test_announced.py",),
    ),
    # -- what may be served, and what may run ---------------------------------------------------
    Mutant(
        "the cursor is ignored",
        "journal/recovery.py",
        "    if call.seq > cursor:\n        raise KeyReused(run_id, intent.key)\n    if call.identity",
        "    if call.identity",
        (CALLS, RECOVERY),
    ),
    Mutant(
        "identity is not compared",
        "journal/recovery.py",
        "    if call.identity != intent.identity:\n        return _hold(",
        "    if False:\n        return _hold(",
        (RECOVERY,),
    ),
    Mutant(
        "two calls in one life share a place",
        "journal/recovery.py",
        "        if call.identity != intent.identity:\n            raise KeyReused(run_id, intent.key)\n",
        "",
        (CALLS,),
    ),
    Mutant(
        "an unknown step runs again by itself",
        "journal/planner.py",
        "else HoldReason.OUTCOME_UNKNOWN",
        "else Next.REPLAY",
        (RECOVERY,),
        ("tool/effect.tool.started:1",),
    ),
    Mutant(
        "a cut-off model call is asked again by itself",
        "journal/planner.py",
        "return HoldReason.MODEL_INTERRUPTED if",
        "return Next.REPLAY if",
        (RECOVERY,),
        ("tool/effect.model.asked:1",),
    ),
    Mutant(
        "lossy arguments are dispatched",
        "journal/planner.py",
        "    if call.lossy and not call.key.kind.is_inference:",
        "    if False:",
        (RECOVERY, "tests/unit/test_replay.py"),
    ),
    Mutant(
        "a changed source may run again",
        "journal/replay.py",
        "    same = recorded.source_digest is not None and recorded == now\n",
        "    same = recorded.source_digest is not None and recorded.policy == now.policy\n",
        ("tests/unit/test_replay.py",),
    ),
    Mutant(
        "any tool may run again",
        "journal/replay.py",
        "    return allowlist.get(recorded.policy) if same and recorded.policy is not None else None\n",
        "    return allowlist.get(recorded.policy or '', Policy('any')) if same else None\n",
        ("tests/unit/test_replay.py",),
    ),
    Mutant(
        "the second boot does not hold an unknown step before it launches",
        "bridge/resume.py",
        "    next_ = Restart() if run.state is RunState.HELD else",
        "    next_ = Restart() if run.state else",
        (
            "tests/bridge/test_holds.py::test_nothing_slips_past_a_hold",
            "tests/bridge/test_holds.py::test_a_held_chat_shows_one_warning_that_names_the_step_and_a_badge",
        ),
        ("tool/effect.tool.started:1",),
    ),
    Mutant("an allowance is not used up", "journal/calls.py", '        used=int(reason == "allowed"),', "        used=0,", (DECISIONS,)),
    Mutant(
        "a step counter starts again in the next life",
        "bridge/position.py",
        "        self.steps, self.tools, self.asked, self.paths = dict(reached), {}, {}, dict(paths)\n",
        "        self.steps, self.tools, self.asked, self.paths = {}, {}, {}, dict(paths)\n",
        cases=("richest/begin_call.model.asked:2", "richest/begin_call.tool.answered:2"),
    ),
    Mutant(
        "a timeout is taken for not happened",
        "journal/silence.py",
        "concurrent.futures.BrokenExecutor, TimeoutError, ConnectionError)",
        "concurrent.futures.BrokenExecutor, ConnectionError)",
        ("tests/bridge/test_outcomes.py::test_each_ending_is_told_once_and_told_again_the_same_after_a_kill",),
    ),
    Mutant(
        "a late result overwrites the first",
        "journal/calls.py",
        '    if call.result_digest is not None:\n        keep_beside(scribe, call, "late_result", result)\n'
        "        return Keep(ResultConflict(call_id, stored=call.result_digest, offered=result.digest))\n",
        "    if call.result_digest is not None:\n        call = set_result_aside(scribe, call)\n",
        (CALLS,),
    ),
    Mutant(
        "a result after the end counts",
        "journal/calls.py",
        "    return call.abandoned or state.is_final or call.token != token",
        "    return call.abandoned or call.token != token",
        (CALLS,),
    ),
    Mutant(
        "what a living step brings counts whatever became of its run",
        "journal/sql/sqlite/calls.sql",
        "r.state = 'running' and r.token = calls.token",
        "r.token >= 0",
        (CALLS,),
    ),
    Mutant(
        "what is read together is not verified",
        "journal/trees.py",
        "yield digest, _checked(digest, found[digest])",
        "yield digest, found[digest]",
        ("tests/unit/test_trees.py",),
    ),
    Mutant(
        "a loop is woken once and never again",
        "journal/arrivals.py",
        "        self._is_called = False\n        while",
        "        while",
        ("tests/unit/test_arrivals.py",),
    ),
    # -- runs, persons, holds -------------------------------------------------------------------
    Mutant(
        "the token is not compared",
        "journal/sql/sqlite/runs.sql",
        " where run_id = :run_id and state = 'running' and token = :token",
        " where run_id = :run_id and state = 'running' and :token = :token",
        (STATES,),
    ),
    Mutant(
        "a step begins after a stop",
        "journal/sql/sqlite/runs.sql",
        " where run_id = :run_id and state = 'running' and token = :token",
        " where run_id = :run_id and state <> 'held' and token = :token",
        (CALLS, STATES),
    ),
    Mutant(
        "a released run is launched twice",
        "journal/runs.py",
        "    if run.state is not RunState.QUEUED:\n        raise StaleVersion(run)\n    run = move",
        "    run = move",
        (STATES,),
    ),
    Mutant(
        "a move does not look at the version",
        "journal/sql/sqlite/runs.sql",
        " where run_id = :run_id and state = :old_state and version = :old_version",
        " where run_id = :run_id and state = :old_state and :old_version = :old_version",
        ("tests/unit/test_guards.py",),
    ),
    Mutant(
        "a decision does not look at the version",
        "journal/decisions.py",
        "    if version == run.version:\n        return\n",
        "    return\n",
        (DECISIONS,),
    ),
    Mutant(
        "a decision does not look at what was shown",
        "journal/decisions.py",
        "    if decision.shown_digest != offer.digest:",
        "    if False:",
        (DECISIONS,),
    ),
    Mutant("the id of a request is ignored", "journal/decisions.py", "    return known is not None\n", "    return False\n", (DECISIONS,)),
    Mutant("what is not allowed can be decided", "journal/decisions.py", "    if not offer.allowed:", "    if False:", (DECISIONS,)),
    Mutant(
        "a run goes on while a step is still unknown",
        "journal/decisions.py",
        "    if _still_unknown(run, calls.of_run(scribe.tx, run.run_id), call, decision.choice):",
        "    if False:",
        (DECISIONS,),
    ),
    Mutant(
        "a decision does not look at its preview",
        "journal/decisions.py",
        "    covered = [offer.digest, preview.shown(steps, offer.call_id, own)]",
        "    covered = [offer.digest]",
        ("tests/unit/test_preview.py",),
    ),
    Mutant(
        "a preview takes every step without a result for one that may be repeated",
        "journal/preview.py",
        "    return Fate.ASKED if isinstance(planned, HoldReason) else _BY_PLAN[planned]",
        "    return Fate.REPEATED if isinstance(planned, HoldReason) else _BY_PLAN[planned]",
        ("tests/unit/test_preview.py",),
    ),
    Mutant(
        "an attempt to resume is counted after it",
        "bridge/resume.py",
        "    run = journal.begin_recovery(run.run_id).result(waiting.PATIENT_S)\n",
        "    pass\n",
        cases=("early_loop",),
        also=(
            (
                "        session.run, session.phase = settled, Phase.READY\n",
                "        journal.begin_recovery(run.run_id).result(waiting.PATIENT_S)\n"
                "        session.run, session.phase = settled, Phase.READY\n",
            ),
        ),
    ),
    Mutant(
        "attempts to resume are not limited",
        "journal/attempts.py",
        "MOST = 3\n",
        "MOST = 3000\n",
        ("tests/unit/test_attempts.py",),
        ("loop",),
    ),
    Mutant(
        "a chat has two runs at once",
        "bridge/admission.py",
        "            elif session is None or not _to_unfinished(active, session, ctx, msg, data):",
        "            else:",
        ("tests/bridge/test_messages.py::test_three_quick_messages_to_a_running_tool_arrive_once_and_in_order",),
    ),
    Mutant(
        "an id with other content is taken for the same message",
        "journal/inputs.py",
        "    if stored != body.digest:",
        "    if False:",
        (ADMISSION,),
    ),
    Mutant(
        "the guard lets a held chat through",
        "bridge/guard.py",
        "    if ctx.id not in unfinished():",
        "    if True:",
        ("tests/bridge/test_preflight.py::test_one_changed_byte_refuses_guards_and_changes_nothing",),
    ),
    Mutant(
        "a replaced coroutine starts effects",
        "bridge/bindings.py",
        "    if not binding.is_current:",
        "    if False:",
        ("tests/bridge/test_replaced.py",),
    ),
    Mutant(
        "undo skips one",
        "bridge/undo.py",
        "        for entry in reversed(self.entries):",
        "        for entry in reversed(self.entries[1:]):",
        ("tests/bridge/test_lifecycle.py::test_off_puts_back_the_very_objects_that_were_there",),
    ),
    # -- replies through integrations -------------------------------------------------------------
    Mutant(
        "a run ends before its reply is recorded",
        "bridge/turns.py",
        "    await deliveries.settle(binding)\n",
        "",
        (f"{REPLIES}::test_killed_in_the_sending_it_is_held_and_a_person_decides",),
    ),
    Mutant(
        "a reply whose error the host swallowed counts as answered",
        "bridge/deliveries.py",
        "    if heard is not None:\n        heard.append(error)\n",
        "",
        (f"{REPLIES}::test_an_error_that_proves_nothing_is_held_also_where_the_host_swallows_it",),
    ),
    Mutant(
        "every hook sees a served step again, and replies twice",
        "bridge/quiet.py",
        "        return [hook for hook in found if _file(hook) in seen]\n",
        "        return found\n",
        (f"{REPLIES}::test_another_plugins_hook_does_not_see_the_end_of_a_served_step_again",),
    ),
    Mutant(
        "a chain that ends at two levels sends its reply twice",
        "bridge/senders.py",
        "        if self.last is None:\n            self.last = {}\n",
        "        return\n",
        (f"{REPLIES}::test_a_chain_that_ends_at_two_levels_sends_its_answer_once",),
    ),
    Mutant(
        "the model is told of a refused reply in each life",
        "bridge/deliveries.py",
        '        told = any(item.seq > call.seq and not item.content["text"] and item.content["system"] for item in kept)\n',
        "        told = not kept and False\n",
        (f"{REPLIES}::test_a_refusal_is_an_answer_and_the_model_is_told_once",),
    ),
    # -- subordinates, several calls in one answer ----------------------------------------------
    Mutant(
        "every subordinate of an agent has the same path",
        "bridge/agents.py",
        '    return f"{key.path}.{key.step}:{key.ordinal}"\n',
        '    return f"{key.path}.1:0"\n',
        (f"{CHAIN}::test_a_subordinate_that_is_called_again_meets_no_older_record",),
    ),
    Mutant(
        "a resume point lies below an answer with several calls",
        "bridge/turns.py",
        "    if not session.position.is_divided(agent):\n",
        "    if agent:\n",
        ("tests/bridge/test_native.py::test_the_calls_after_a_native_subordinate_are_made_after_a_kill_inside_it",),
    ),
    Mutant(
        "a nudge makes the call of a subordinate unknown",
        "journal/recovery.py",
        "    return policy is not None and policy.through\n",
        "    return False\n",
        (f"{CHAIN}::test_a_nudge_while_the_subordinates_model_is_asked_goes_on_at_the_subordinate",),
    ),
    Mutant(
        "an answer that goes up closes no call",
        "bridge/subordinates.py",
        '        await session.close(call, _value(data["args"][2]))\n',
        "        pass\n",
        ("tests/bridge/test_subordinates.py::test_a_chain_of_three_killed_in_its_deepest_tool_is_held_for_that_step_alone",),
    ),
    Mutant(
        "a deleted chat leaves the jobs of its jobs behind",
        "bridge/children.py",
        "                problem = error\n    end_stopped(active)\n",
        "                problem = error\n",
        ("tests/bridge/test_parallel.py::test_deleting_the_chat_ends_jobs_of_its_jobs_too",),
    ),
    Mutant(
        "a chat is deleted although a job of it goes on",
        "bridge/children.py",
        "                problem = error\n    end_stopped(active)\n",
        "                pass\n    end_stopped(active)\n",
        ("tests/bridge/test_parallel.py::test_a_chat_whose_job_cannot_be_stopped_stays_as_it_is",),
    ),
    Mutant(
        "a suspension that comes too late counts in the journal only",
        "bridge/suspension.py",
        "            if not asked.cancel():  # what was not taken back may count later\n",
        "            if asked is None:\n",
        (f"{BETWEEN}::test_a_suspension_that_the_journal_records_after_it_was_taken_back_does_not_strand_the_run",),
    ),
    Mutant(
        "whatever refuses the end of a run is taken for its end",
        "bridge/turns.py",
        "        if not await asyncio.to_thread(_has_ended, active, session, generation, problem):\n            return False\n",
        "",
        (
            f"{BETWEEN}::test_an_end_that_a_damaged_record_refuses_is_held_and_said",
            f"{BETWEEN}::test_a_turn_that_ends_between_its_suspension_and_its_fence_goes_on",
        ),
    ),
    Mutant(
        "a job that is put aside in the moment in which it is taken on is lost",
        "bridge/workers.py",
        "            if session.phase is Phase.ENDED:\n                return None\n            await _outlive(session, generation)\n",
        "            raise\n",
        (f"{BETWEEN}::test_a_suspension_that_begins_just_when_a_job_is_gone_on_with_does_not_end_the_job",),
    ),
    Mutant(
        "a turn comes to stand at a hold that was decided before",
        "bridge/session.py",
        "            if is_mine and (run.hold is not None or run.state is RunState.QUEUED):\n",
        "            if True:\n",
        (f"{BETWEEN}::test_a_decision_that_comes_before_the_turn_stands_at_its_hold_is_not_lost",),
    ),
    Mutant(
        "a job that goes on counts its calls from where it stopped",
        "bridge/workers.py",
        "    session.position.stand_at_start()\n",
        "",
        ("tests/bridge/test_parallel.py::test_a_job_that_was_suspended_and_goes_on_in_the_same_process_keeps_its_places",),
    ),
    Mutant(
        "a job whose task was cancelled waits for nobody",
        "bridge/workers.py",
        "                session.lost_its_task(LOST)\n            except JournalError:\n                return False\n",
        "                pass\n            except JournalError:\n                return False\n",
        ("tests/bridge/test_parallel.py::test_a_job_whose_task_is_cancelled_by_something_else_waits_for_a_person",),
    ),
    Mutant(
        "a cancellation from inside a tool ends the turn",
        "bridge/tool_calls.py",
        "    return task is None or task.cancelling() > 0 or binding is None or not binding.is_current\n",
        "    return True\n",
        ("tests/bridge/test_outcomes.py::test_a_cancellation_inside_a_tool_that_nobody_asked_for_proves_nothing",),
    ),
    Mutant(
        "a lost connection is a result once the switch was laid by hand",
        "bridge/tool_calls.py",
        "        if not outcomes.proves_nothing(error):\n",
        "        if not outcomes.proves_nothing(error) or not active.is_on:\n",
        ("tests/bridge/test_while_off.py::test_off_by_hand_during_a_tool_that_loses_its_connection_the_call_stays_unknown",),
    ),
    Mutant(
        "a tool acts on an answer that is not recorded",
        "bridge/tool_calls.py",
        "    await session.check_asked(path)\n",
        "",
        ("tests/bridge/test_unrecorded.py",),
    ),
    # -- messages, history ----------------------------------------------------------------------
    Mutant(
        "a saved result is put into the history twice",
        "bridge/tool_calls.py",
        "        if open_tool is not None and open_tool.tool is tool:\n            open_tool.response = None\n",
        "",
        ("tests/bridge/test_messages.py::test_a_message_right_after_a_result_was_appended_does_not_append_it_again",),
    ),
    Mutant(
        "a saved result is lost to a message",
        "bridge/messages.py",
        "    else:\n        await append_result(session, agent)\n",
        "    else:\n        pass\n",
        cases=("two",),
    ),
    Mutant(
        "a waiting message is delivered twice",
        "bridge/messages.py",
        "            if message.id not in present:\n",
        "            if message.id:\n",
        cases=("two", "two/checkpoint.committed:2", "two/begin_call.model.committed:2"),
    ),
    Mutant(
        "a delivered message waits on",
        "journal/inputs.py",
        '        scribe.tx.change("deliver_input", chat_id=chat_id, input_id=input_id, now=scribe.now)\n',
        "        continue\n",
        (ADMISSION,),
    ),
    Mutant(
        "a message is acknowledged before it is saved",
        "bridge/admission.py",
        "        kept = waiting.commit(future)\n",
        "        kept = Run.__class__ and type('Input', (), {'input_id': msg.id, 'seq': 10**9, 'content': content_of(msg)})\n",
        ("tests/bridge/test_store_trouble.py::test_a_message_to_a_running_turn_that_cannot_be_saved_is_refused_and_not_delivered",),
    ),
    Mutant(
        "the message of a run is added again on a resume",
        "bridge/messages.py",
        "        if session.resumed and not _adopt([agent], message, data) and ",
        "        if session.resumed and ",
        cases=("tool/finish_call.tool.answered:1",),
    ),
    Mutant(
        "a rebuilt chat keeps the provider's state",
        "bridge/projection.py",
        '        data = {**data, "responses_state": {k: v for k, v in state.items() if k not in _PROVIDER_STATE}}\n',
        "        pass\n",
        ("tests/bridge/test_replaced.py",),
        also=(("        history.clear_responses_provider_state(agent)\n", ""),),
    ),
    # -- values ---------------------------------------------------------------------------------
    Mutant(
        "arguments are digested before they are masked",
        "journal/intake.py",
        "codec.digest(codec.encode(self.masker.uniform(of)))",
        "codec.digest(codec.encode(of))",
        (RECOVERY,),
    ),
    Mutant(
        "a result is stored unmasked",
        "journal/intake.py",
        "            body = codec.body(masked.value)\n            lossy",
        "            body = codec.body(value)\n            lossy",
        ("tests/unit/test_secrets.py",),
    ),
    Mutant(
        "a corrupt checkpoint gives way to an older one",
        "journal/sql/sqlite/runs.sql",
        "  join checkpoints c on c.seq = r.checkpoint_seq\n where r.run_id = :run_id\n",
        "  join checkpoints c on c.run_id = r.run_id\n where r.run_id = :run_id\n"
        " order by c.body is not null desc, length(c.seal) desc, c.seq desc\n limit 1\n",
        ("tests/store/test_damage.py::test_a_sound_older_checkpoint_does_not_stand_in_for_a_damaged_newest_one",),
    ),
    Mutant(
        "the seal of a checkpoint is not compared",
        "journal/checkpoints.py",
        '    if row["seal"] != _seal(run_id, row["seq"], row["root"], row["position"]):',
        "    if False:",
        ("tests/store/test_damage.py",),
    ),
    Mutant(
        "a node is not verified",
        "journal/trees.py",
        "    if codec.digest(body) != digest:",
        "    if False:",
        ("tests/store/test_damage.py", "tests/unit/test_trees.py"),
    ),
    Mutant(
        "a chat is rebuilt over what a person did meanwhile",
        "bridge/standing.py",
        "    if _moved_on(ctx, point, run, known, calls):",
        "    if False:",
        ("tests/bridge/test_while_off.py::test_what_happened_to_a_held_chat_while_off_is_never_overwritten",),
    ),
    # -- large bodies, collection, retention ----------------------------------------------------
    Mutant(
        "a record is written before its large body is synced",
        "journal/store/bodies.py",
        "            os.fsync(file)\n        finally:\n            os.close(file)\n        new.rename(path)",
        "        finally:\n            os.close(file)\n        new.rename(path)",
        (BODIES + "::test_the_file_and_its_folder_are_synced_before_the_record_is_written",),
    ),
    Mutant(
        "the name of a large body is not synced",
        "journal/store/bodies.py",
        "        sync(path.parent)  # also of a file that was there: a crash may have come before this line\n",
        "",
        (BODIES + "::test_the_file_and_its_folder_are_synced_before_the_record_is_written",),
    ),
    Mutant(
        "a body is collected without a second look",
        "journal/collection.py",
        '    free = [row for row in rows if not scribe.pins.is_named(row["digest"])]\n',
        "    free = rows\n",
        (RETENTION + "::test_a_body_that_is_named_again_while_it_is_collected_stays",),
    ),
    Mutant(
        "a part of a state is collected without a second look",
        "journal/collection.py",
        '    free = [row for row in rows if not scribe.pins.is_pinned(row["digest"])]\n',
        "    free = rows\n",
        (RETENTION + "::test_a_saved_state_that_comes_back_while_it_is_collected_stays",),
    ),
    Mutant(
        "a part of a state goes while a state leads to it",
        "journal/sql/sqlite/retention.sql",
        "   and (is_node = 0 or digest in (select value from json_each(:unreached)))\n",
        "",
        (RETENTION + "::test_a_result_whose_run_went_stays_for_the_state_that_shows_it",),
    ),
    Mutant(
        "a value that becomes a part of a state is not marked",
        "journal/sql/sqlite/runs.sql",
        "   set is_node = 1,\n",
        "   set is_node = is_node,\n",
        (RETENTION + "::test_a_result_that_the_chat_shows_is_stored_once_and_goes_when_neither_names_it",),
    ),
    Mutant(
        "what a chat counts on is collected",
        "journal/pins.py",
        "            return self.is_named(digest) or any(digest in known for known in self._known.values())",
        "            return self.is_named(digest)",
        (RETENTION + "::test_what_a_chat_does_not_hand_in_again_is_not_collected", "tests/unit/test_retention.py"),
    ),
    Mutant(
        "the file of a body is removed without a second look",
        "journal/store/bodies.py",
        "            if digest in self._flying or (leftover.digest and is_named(digest)):",
        "            if digest in self._flying:",
        (BODIES + "::test_what_is_in_flight_is_not_removed",),
    ),
    Mutant(
        "a file in flight is removed",
        "journal/store/bodies.py",
        "            if digest in self._flying or (leftover.digest and is_named(digest)):",
        "            if leftover.digest and is_named(digest):",
        (BODIES + "::test_what_is_in_flight_is_not_removed",),
    ),
    Mutant(
        "a run with waiting messages is removed",
        "journal/retention.py",
        "        return self.is_head or self.has_messages or self.in_conflict",
        "        return self.is_head or self.in_conflict",
        ("tests/unit/test_retention.py", RETENTION + "::test_a_run_whose_messages_are_not_delivered_stays"),
    ),
    Mutant(
        "the reserve is not given up on a full disk",
        "journal/store/writer.py",
        "        except StoreFull:\n            self._reserve.give_up()\n            if not was_held:\n                raise\n",
        "        except StoreFull:\n            if was_held or not was_held:\n                raise\n",
        (STORE + "::test_a_full_journal_saves_in_the_room_that_was_kept",),
    ),
    Mutant(
        "a file that leaves the journal's folder is not heard of",
        "overrides/helpers/watchdog.py",
        "        if not all(own(path)",
        "        if not any(own(path)",
        ("tests/unit/test_watchers.py",),
    ),
    Mutant(
        "a resume point that could not be written is left behind",
        "bridge/session.py",
        "            self.point.again_if_lost()\n",
        "",
        (BETWEEN + "::test_a_message_stands_once_and_at_its_place_although_the_resume_point_that_says_so_could_not_be_written_at_first",),
    ),
    Mutant(
        "a message is handed to a turn that is ending",
        "bridge/admission.py",
        "    if ctx.id in active.closing:  # the host",
        "    if False:  # the host",
        (BETWEEN + "::test_a_message_that_comes_while_the_turn_before_is_still_ending_is_refused_and_may_come_again",),
    ),
    Mutant(
        "what a head file holds is known only after it was written",
        "journal/store/heads.py",
        "                self._ours = self._written, data\n",
        "",
        ("tests/store/test_writer_death.py::test_a_death_right_after_a_head_was_written_is_not_taken_for_somebody_elses_hand",),
    ),
    Mutant(
        "a decision does not wait until the turn waits for it",
        "bridge/launching.py",
        "def _go_on(active: Activation, session: Session, run: Run) -> None:\n    let_park(active, session)\n",
        "def _go_on(active: Activation, session: Session, run: Run) -> None:\n",
        ("tests/bridge/test_decided_early.py::test_the_turn_goes_on_and_nobody_is_asked_again",),
    ),
    Mutant(
        "a deleted chat gets its name",
        "bridge/background.py",
        "    return AgentContext.get(ctx.id) is not ctx\n",
        "    return False\n",
        ("tests/bridge/test_background.py::test_a_chat_that_is_deleted_while_it_is_being_named_stays_deleted",),
    ),
    Mutant(
        "what is in no hurry waits for ever",
        "journal/store/writer.py",
        "        while self._jobs and not self._is_wanted() and self._rings(_UNHURRIED_SECONDS):\n            pass\n",
        "        while self._jobs and not self._is_wanted():\n            self._bell.get()\n",
        (STORE + "::TestSqliteStore::test_what_is_in_no_hurry_is_written_without_company_and_at_the_end",),
    ),
    Mutant(
        "what a full commit left behind waits for the next to ring",
        "journal/store/writer.py",
        "        while not self._jobs and not self._rings(patience):",
        "        while not self._rings(patience):",
        (STORE + "::TestSqliteStore::test_what_is_in_no_hurry_is_written_also_where_one_commit_does_not_hold_it",),
    ),
    Mutant(
        "what could not be read for a moment is remembered",
        "bridge/unread.py",
        "path, stamp if found else None, found)",
        "path, stamp, found)",
        ("tests/unit/test_unread.py::test_what_could_not_be_read_for_a_moment_is_read_the_next_time",),
    ),
    Mutant(
        "what is in no hurry overtakes what came before it",
        "journal/store/writer.py",
        "            self._jobs.extend(jobs)\n",
        "            (self._jobs.extendleft if all(job.unhurried for job in jobs) else self._jobs.extend)(jobs)\n",
        (STORE + "::TestSqliteStore::test_what_is_in_no_hurry_keeps_its_place_among_the_others",),
    ),
    Mutant(
        "what is handed in together is two commits",
        "journal/store/sqlite.py",
        "            if group.jobs:\n                self._writer.put(group.jobs)\n",
        "            for job in group.jobs:\n                job.is_followed = False\n                self._writer.put([job])\n"
        "                wait([job.future], 5)\n",
        (STORE + "::TestSqliteStore::test_what_is_submitted_together_is_one_commit", "tests/unit/test_one_commit.py"),
        also=(("from concurrent.futures import Future\n", "from concurrent.futures import Future, wait\n"),),
    ),
    # -- a journal that was put back ------------------------------------------------------------
    Mutant(
        "a journal that was put back holds nothing",
        "journal/owned.py",
        "            if store.restored is not None:\n",
        "            if store.restored is not None and False:\n",
        (RESTORED + "::test_a_journal_put_back_to_an_earlier_state_holds_every_unfinished_run",),
    ),
    Mutant(
        "a journal of an earlier state passes for the newest",
        "journal/store/lineage.py",
        '            return _restored("rolled_back", known, head)\n',
        "            continue\n",
        (RESTORED + "::test_a_journal_put_back_to_an_earlier_state_holds_every_unfinished_run",),
    ),
    Mutant(
        "the head is not written",
        "journal/store/heads.py",
        "                self.is_kept |= copy.write(data)\n",
        "                self.is_kept |= False\n",
        (RESTORED + "::test_a_journal_put_back_to_an_earlier_state_holds_every_unfinished_run",),
    ),
    # -- masks, persons at a terminal -----------------------------------------------------------
    Mutant(
        "secrets are masked verbatim alone",
        "journal/finding.py",
        "            return self._in_part(data, first=True, last=True)\n",
        "            each = enumerate(self._data)\n"
        "            return [Hit(at, at + len(value), number, True) for number, value in each for at in every(value, data)]\n",
        ("tests/unit/test_masking.py", "tests/unit/test_spellings.py"),
    ),
    Mutant(
        "what was found clean stays clean when a secret is new",
        "journal/masking.py",
        "            self._known = _Known(secrets)\n",
        "            clean, self._known = self._known.clean, _Known(secrets)\n            self._known.clean = clean\n",
        ("tests/unit/test_clean.py",),
    ),
    Mutant(
        "the quick look knows one alphabet of base64 alone",
        "journal/spellings.py",
        'RARE = View(_UPPER + b"+/-_", _UPPER + b"+/+/")',
        'RARE = View(_UPPER + b"+/", _UPPER + b"+/")',
        ("tests/unit/test_sieve.py",),
    ),
    Mutant(
        "a decision is taken without a terminal",
        "journal/cli/deciding.py",
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n",
        "    if False:\n",
        (COMMANDS + "::test_without_a_terminal_or_beside_a_server_nobody_decides",),
    ),
    Mutant(
        "a terminal to read is enough for a decision",
        "journal/cli/deciding.py",
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n",
        "    if not sys.stdout.isatty():\n",
        (COMMANDS + "::test_a_program_that_types_into_a_terminal_is_no_person",),
    ),
    # -- recovery that cannot hurt --------------------------------------------------------------
    Mutant(
        "a suspect is launched before its neighbours have ended",
        "bridge/launching.py",
        "        if session.run.recoveries:\n            _let_others_end(active, session)\n",
        "",
        (LOOPS + "::test_the_guilty_run_is_held_after_three_ends_and_its_neighbours_end_well",),
    ),
    Mutant(
        "suspects are launched together with neighbours",
        "bridge/launching.py",
        "alone=active.careful or session.run.recoveries > 0)",
        "alone=False)",
        (LOOPS + "::test_the_guilty_run_is_held_after_three_ends_and_its_neighbours_end_well",),
        also=(("        if session.run.recoveries:\n            _let_others_end(active, session)\n", ""),),
    ),
    Mutant(
        "suspects are launched first",
        "bridge/resume.py",
        "run.recoveries, run.run_id))",
        "-run.recoveries, run.run_id))",
        (LOOPS + "::test_after_an_unclean_end_the_suspect_is_the_last_and_goes_alone",),
    ),
    Mutant(
        "a process end with a run in hand is not counted",
        "journal/runs.py",
        "token=run.token + 1, recoveries=run.recoveries + 1)\n    return Claim(",
        "token=run.token + 1)\n    return Claim(",
        ("tests/unit/test_attempts.py",),
        ("loop",),
    ),
    Mutant(
        "newer words of a chat are dropped when a person goes back",
        "bridge/resume.py",
        '    kept = restoring.keep_copy(session, point, chosen) if chosen else ""\n',
        '    kept = ""\n',
        ("tests/bridge/test_restore.py::test_back_to_the_record_keeps_what_was_newer_as_a_chat_of_its_own",),
    ),
    Mutant(
        "a choice is forgotten before its chat was brought there",
        "bridge/resume.py",
        "    if session.activation.journal.waiting_selection(run.run_id) is None:\n",
        "    if True:\n",
        ("tests/recovery/test_restore_kills.py::test_a_kill_in_the_middle_of_going_back_makes_no_second_copy_and_loses_nothing",),
    ),
    Mutant(
        "a finished chat that lags behind is left as it is",
        "bridge/resume.py",
        "                _complete(active, run, ctx)\n",
        "                pass\n",
        cases=("behind",),
    ),
    Mutant(
        "a changed file is not noted",
        "bridge/watching.py",
        "        active.journal.note_changes(fresh)\n",
        "        pass\n",
        ("tests/bridge/test_watching.py::test_a_changed_file_is_noticed_and_said_until_it_is_put_back",),
    ),
    # -- steps of any agent ---------------------------------------------------------------------
    Mutant(
        "an idempotency key changes between attempts",
        "journal/replay.py",
        "    return named(call.run_id, call.key.text, call.identity)",
        "    return named(call.run_id, call.key.text, call.identity, str(call.attempts))",
        (STEPS + "::test_an_idempotent_step_runs_again_with_the_same_key",),
    ),
    Mutant(
        "a key that the service has forgotten is used again",
        "journal/planner.py",
        "            return Next.REPLAY if at < call.extra.get(KEY_UNTIL, 0) else None\n",
        "            return Next.REPLAY\n",
        (STEPS + "::test_a_key_that_the_service_has_forgotten_is_not_trusted",),
    ),
    Mutant(
        "not done is believed while the effect may be on its way",
        "journal/steps.py",
        "        if finding is not None and finding.found is Found.NOT_DONE:\n",
        "        if False:\n",
        (STEPS + "::test_a_check_after_a_timeout_proves_only_that_it_happened",),
    ),
    Mutant(
        "a loop may go past a step on record",
        "journal/steps.py",
        "        if left_out:\n            yield from self._diverged(left_out, str(now))\n",
        "        if left_out:\n            yield from ()\n",
        (STEPS + "::test_a_new_step_never_starts_past_a_recorded_one",),
    ),
    Mutant(
        "a loop may end before a step on record",
        "journal/steps.py",
        '            yield from self._diverged(left_out, "the end of the turn")\n',
        "            yield from ()\n",
        ("tests/unit/test_turns.py::test_the_end_of_a_turn_before_a_recorded_step_is_held",),
    ),
    Mutant(
        "an interrupted step lets its loop go on",
        "journal/steps.py",
        "            # Cancelled or interrupted, and a loop may catch this and go on: it finds that its run waits.\n"
        "            yield self.suspended()\n",
        "",
        ("tests/unit/test_turns.py::test_a_loop_that_swallows_an_interruption_starts_nothing_more",),
    ),
    Mutant(
        "an interrupted turn leaves its run as it is",
        "journal/turns.py",
        "        except BaseException:\n            yield turn.suspended()\n            raise\n",
        "        except BaseException:\n            raise\n",
        (SUSPENDED + "::test_who_lives_on_finds_the_run_put_down",),
    ),
    # -- ways into a turn -----------------------------------------------------------------------
    Mutant(
        "which times of a task were taken in is forgotten",
        "bridge/tasks.py",
        "    return any(active.journal.find_input(chat, occurrence.input_id, {}) for chat in (chat_id, occurrence.own_chat))\n",
        "    return False\n",
        (SCHEDULED + "::test_a_task_that_was_cut_off_waits_idle_and_goes_on_after_the_decision",),
    ),
    Mutant(
        "a task that was cut off stays running",
        "bridge/tasks.py",
        '    changes: dict[str, Any] = {"state": type(task.state)("idle")}\n',
        "    changes: dict[str, Any] = {}\n",
        (SCHEDULED + "::test_a_task_that_was_cut_off_waits_idle_and_goes_on_after_the_decision",),
    ),
    Mutant(
        "a turn that the host cancelled is forgotten",
        "bridge/occurrences.py",
        "    handle.add_done_callback(partial(_ended, active, session, session.generation))\n",
        "",
        (SCHEDULED + "::test_a_turn_that_the_host_cancelled_in_the_middle_waits_and_its_task_is_idle",),
    ),
    Mutant(
        "a caller's cleaning up stops its run",
        "bridge/programs.py",
        "    if session is None or waiting_for.get() != session.chat_id:\n        return False\n",
        "    return False\n",
        (PROGRAMS + "::test_a_held_run_in_the_living_process_survives_the_cleaning_up_of_its_caller",),
    ),
    Mutant(
        "a background turn goes on by itself",
        "bridge/programs.py",
        "    if journal.was_released(run.run_id):\n",
        "    if True:\n",
        (PROGRAMS + "::test_nothing_of_a_background_chat_goes_on_by_itself_after_a_restart",),
    ),
    Mutant(
        "a key counts in its chat only",
        "bridge/admission.py",
        "        known = active.journal.find_anywhere(key, content_of(msg))\n",
        "        known = active.journal.find_input(ctx.id, key, content_of(msg))\n",
        (PROGRAMS + "::test_the_same_key_is_the_same_request_also_without_a_chat_and_after_a_kill",),
    ),
    Mutant(
        "a queued message is saved at some later time",
        "bridge/queue.py",
        "        item[_DURING] = session.run.run_id\n    save(ctx)\n",
        "        item[_DURING] = session.run.run_id\n",
        (QUEUE + "::test_a_queued_message_survives_a_kill_that_comes_at_once_and_is_sent_once",),
    ),
    Mutant(
        "a queued message gets a new id when it is sent",
        "bridge/admission.py",
        "    if sent is not None:\n        msg.id = sent.input_id\n",
        "",
        (QUEUE + "::test_a_queued_message_that_was_taken_in_is_not_sent_again",),
    ),
)
"""Faults of features that do not exist yet get their entry with the feature."""
