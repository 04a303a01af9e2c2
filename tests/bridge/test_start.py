"""The start writes nothing below usr/plugins while the host sets up its watchers: that can hang it for ever."""

from __future__ import annotations

from refhost.model import answer


def test_all_bytecode_is_written_before_the_journal_is_opened(world, model):
    model.script(answer("hello"))
    world.start(env={"PYTHONPYCACHEPREFIX": "", "PYTHONDONTWRITEBYTECODE": ""})
    assert world.client().say(world.client().create_chat(), "hi") == "hello"

    opened = (world.data_folder / "journal.lock").stat().st_mtime_ns
    later = [path.name for path in world.plugin_folder.rglob("*") if path.stat().st_mtime_ns > opened]

    assert list(world.plugin_folder.rglob("extensions/**/*.pyc"))
    assert later == []
