"""Pictures of Recovery on the real Agent Zero: `python -m tests.live.shots [folder]` writes them (docs/pictures).

Two chats are killed inside a command, as a crash would; the pictures show what a person then sees.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from .browser import Browser, Tab
from .client import Client
from .conftest import NEEDS, missing
from .host import LiveHost, make_seed
from .model import ScriptedModel, shell
from .recovery import Recovery

CHATS = (
    ("Publish release 1.4, please.", "deploy release-1.4 --to production", "Release 1.4"),
    ("Send the weekly report to the team.", "send-report --to team --week 48", "Weekly report"),
)
SIZES = {"wide": (1280, 860), "narrow": (360, 780)}


def main() -> int:
    if lacking := missing():
        print(NEEDS, *lacking, sep="\n", file=sys.stderr)
        return 2
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures").resolve()
    with tempfile.TemporaryDirectory(prefix="durable-shots-") as folder:
        python = Path(os.environ["A0_PYTHON"])
        seed = make_seed(Path(os.environ["A0_ROOT"]), python, Path(folder) / "seed")
        model = ScriptedModel()
        host = LiveHost(Path(folder) / "host", seed=seed, python=python, model_url=model.url)
        try:
            host.put_plugin(enabled=True)
            chat = _two_held_chats(host, model)
            _take(host.url, chat, target)
        finally:
            host.close()
            model.close()
    return 0


def _two_held_chats(host: LiveHost, model: ScriptedModel) -> str:
    """Stand-ins for a deployment and a mailer wait until they are killed with the test's folder."""
    tools = host.home / "usr" / "stand-ins"
    tools.mkdir(parents=True)
    for name in ("deploy", "send-report"):
        script = tools / name
        script.write_text("#!/bin/sh\nexec sleep 60\n")
        script.chmod(0o755)
    host.start(env={"PATH": f"{tools}:{os.environ['PATH']}"})
    client, chats = Client(host), []
    for number, (text, command, name) in enumerate(CHATS):
        model.chat_names[text] = name
        chat = client.new_chat()
        chats.append(chat)
        model.script(shell("date" if number else "ls"), shell(command))
        client.send(chat, text)
        client.wait(f"the second step of {chat}", lambda chat=chat: len(Recovery(client).run(chat)["calls"]) >= 4)
    host.kill()
    host.start()
    for chat in chats:
        Recovery(Client(host)).held(chat)
    return chats[0]


def _take(url: str, chat: str, target: Path) -> None:
    browser = Browser(target)
    try:
        for theme in ("dark", "light"):
            for size, (width, height) in SIZES.items():
                with browser.tab(url, width=width, height=height) as tab:
                    tab.page.add_init_script(f"localStorage.setItem('darkMode', '{'true' if theme == 'dark' else 'false'}')")
                    _walk(tab, chat, f"{theme}-{size}")
    finally:
        browser.close()


def _walk(tab: Tab, chat: str, name: str) -> None:
    page = tab.open(chat).page
    page.add_style_tag(content=".toast-stack-container { display: none !important; }")  # a host outside its container misses a folder
    tab.see("Waiting for your decision")
    tab.picture(f"chat-{name}")
    page.get_by_role("button", name="Review").first.click()
    page.get_by_label("It happened").wait_for()
    tab.picture(f"run-{name}")
    page.get_by_label("It happened").check()
    page.get_by_label("How do you know?").fill("The release page shows 1.4, published at 13:57.")
    page.get_by_label("How do you know?").scroll_into_view_if_needed()
    tab.picture(f"decision-{name}")
    page.get_by_label("How do you know?").fill("")
    page.get_by_role("button", name="Back").click()
    page.get_by_text("need you").first.wait_for()
    tab.picture(f"list-{name}")


if __name__ == "__main__":
    sys.exit(main())
