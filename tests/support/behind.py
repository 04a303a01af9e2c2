"""What happens to a chat behind the record, and how a person goes on from there."""

from __future__ import annotations

from tests.support.scenes import ended
from tests.support.story import Panel

NEIGHBOUR = '''
"""What other plugins of the host do to a chat: branch it, compact it, sum up old topics, rename it."""

import json

from agent import AgentContext
from helpers import api, history, persist_chat


class Neighbour(api.ApiHandler):
    async def process(self, input, request):
        ctx = AgentContext.get(input["context"])
        made = getattr(self, input["do"])(ctx, input)
        if AgentContext.get(ctx.id):
            persist_chat.save_tmp_chat(ctx)
        return {"made": made}

    def drop(self, ctx, input):
        """What the host does with a chat whose file is gone."""
        AgentContext.remove(ctx.id)

    def rename(self, ctx, input):
        ctx.name = input["name"]

    def branch(self, ctx, input):
        data = json.loads(json.dumps(persist_chat._serialize_context(ctx)))
        del data["id"]
        data["name"] = f"{ctx.name} (branch)"
        made = persist_chat._deserialize_context(data)
        persist_chat.save_tmp_chat(made)
        return made.id

    def compact(self, ctx, input):
        ctx.agent0.history = history.History(agent=ctx.agent0)
        ctx.agent0.history.add_message(ai=True, content="A summary of everything")
        ctx.log.reset()

    def sum_up(self, ctx, input):
        first = history.Topic(history=ctx.agent0.history)
        first.summary = "What was said before"
        first.messages = ctx.agent0.history.current.messages[:1]
        bulk = history.Bulk(history=ctx.agent0.history)
        bulk.records = [*ctx.agent0.history.topics, first]
        bulk.summary = "Summed up"
        ctx.agent0.history.bulks.append(bulk)
        ctx.agent0.history.topics.clear()
        del ctx.agent0.history.current.messages[:1]
'''


def do(world, chat, what, **more):
    return world.client().call("plugins/neighbour/neighbour", {"context": chat, "do": what, **more})["made"]


def on_again(world, how="restart"):
    if how == "restart":
        world.toggle_file(True)
        world.restart()
    else:
        world.client().toggle(True)
    return Panel(world.client())


def use_while_off(world, chat):
    client = world.client()
    client.say(chat, "while off")
    client.wait_idle(chat)


def go_on(world, chat):
    """Answer the question about the open effect, and see the run end."""
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "outcome_unknown"
    assert panel.decide(detail, "confirmed_completed", "seen", result_text="it was done").status == 200
    assert ended(world, chat) == "completed"


def chats(world):
    return {entry["id"]: entry["name"] for entry in world.client().poll()["contexts"]}
