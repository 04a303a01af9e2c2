"""Ends a turn in which the model answers twice in a row with something that cannot be used."""

from __future__ import annotations

from typing import Any

from helpers import errors, extension, settings


class StopUnusableResponses(extension.Extension):
    def execute(self, data: Any = None, **kwargs: Any) -> None:
        me = self.agent
        text = data["kwargs"].get("message", data["args"][1] if len(data["args"]) > 1 else "")
        if me is None or text not in (me.read_prompt("fw.msg_misformat.md"), me.read_prompt("fw.msg_repeat.md")):
            return
        state, now = me.loop_data.params_persistent, me.loop_data.iteration
        last, count = state.get("_unusable", (-2, 0))
        state["_unusable"] = (now, count + 1 if last == now - 1 else 1)
        if state["_unusable"][1] >= settings.get_settings()["max_consecutive_unusable_responses"]:
            stop = "The model's answers cannot be used. The turn was stopped."
            me.context.log.log(type="warning", content=stop)
            data["exception"] = errors.HandledException(stop)
