"""Ends a turn in which the model answers twice in a row with something that cannot be used."""

from __future__ import annotations

from typing import Any

from helpers import errors, extension, settings

STATE_KEY = "_unusable_response_failures"


class StopUnusableResponses(extension.Extension):
    def execute(self, data: Any = None, **kwargs: Any) -> None:
        me = self.agent
        text = data["kwargs"].get("message", data["args"][1] if len(data["args"]) > 1 else "")
        if me is None or text not in (me.read_prompt("fw.msg_misformat.md"), me.read_prompt("fw.msg_repeat.md")):
            return
        state, now = me.loop_data.params_persistent, me.loop_data.iteration
        last = state.get(STATE_KEY, {})
        count = last["count"] + 1 if last.get("iteration") == now - 1 else 1
        state[STATE_KEY] = {"iteration": now, "count": count}
        if count >= settings.get_settings()["max_consecutive_unusable_responses"]:
            stop = "The model's answers cannot be used. The turn was stopped."
            me.context.log.log(type="warning", content=stop)
            data["exception"] = errors.HandledException(stop)
