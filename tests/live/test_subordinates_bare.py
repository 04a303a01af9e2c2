"""What the real host does with a chain of agents without the plugin: the failure that paths exist to end."""

from __future__ import annotations

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import ScriptedModel, say, tool_call

HOST = "bare"


def test_a_nudge_after_a_kill_in_the_deepest_of_three_agents_runs_its_command_twice(
    host: LiveHost, client: Client, model: ScriptedModel, effect: Effect
) -> None:
    chat = client.new_chat()
    orders = [tool_call("call_subordinate", {"message": text, "reset": "true"}) for text in ("ORDER-ONE", "ORDER-TWO")]
    model.script(*orders, effect.gated())
    client.send(chat, "Let somebody write the file")
    effect.wait_for("start")
    client.wait("the chat's name", lambda: client.chats()[chat]["name"])  # named, it has a file

    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()
    assert client.bubbles(chat, "warning") == []
    model.default = lambda asked: say("Done.") if asked.count("tool_result") else effect.gated()
    client.nudge(chat)  # of the agent that was at work when the host last saved the chat, whichever that was

    effect.wait_for("start", "end", "start", "end")
    client.wait_idle(chat)
    assert "Done." in client.bubbles(chat, "response")
