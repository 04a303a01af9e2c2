"""Every text of the panel has a contrast of at least 4.5:1, in both palettes of the host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Panel, Site

pytestmark = pytest.mark.browser

# What stands on what is computed as the browser draws it: colours are mixed and partly transparent.
LOOK = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under, opacity = 1) => top.slice(0, 3).map((part, at) => part * top[3] * opacity + under[at] * (1 - top[3] * opacity));
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const parents = (element) => element ? [...parents(element.parentElement), element] : [];
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('.rx'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.getClientRects().length || element.closest('.rx-sr, [inert], template')) continue;
    let under = [0, 0, 0];
    let opacity = 1;
    for (const one of parents(element)) {
      const style = getComputedStyle(one);
      opacity *= Number(style.opacity);
      under = over(rgba(style.backgroundColor), under);
    }
    const text = over(rgba(getComputedStyle(element).color), under, opacity);
    const [dark, bright] = [light(text), light(under)].sort((a, b) => a - b);
    const ratio = (bright + 0.05) / (dark + 0.05);
    const least = element.matches('.material-symbols-outlined') ? 3 : 4.5;
    found.push({ text: node.data.trim().slice(0, 40), ratio: Math.round(ratio * 100) / 100, least });
  }
  return found;
}"""

# The host's own palettes; the small host's differ a little.
PALETTES = {
    "dark": {
        "background": "#131313",
        "text": "#ffffff",
        "text-muted": "#d4d4d4e4",
        "panel": "#1a1a1a",
        "border": "#444444a8",
        "accent": "#cf6679",
    },
    "light": {
        "background": "#fafafa",
        "text": "#333333",
        "text-muted": "#333333e4",
        "panel": "#f0f0f0",
        "border": "#bdbdbdcf",
        "accent": "#b00020",
    },
}


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_text_can_be_read(tab: Callable[..., Panel], site: Site, theme: str) -> None:
    panel = tab(light=theme == "light")
    sheet = "".join(f"--color-{name}: {value} !important;" for name, value in PALETTES[theme].items())
    panel.page.add_style_tag(content=f":root, body {{ {sheet} }}")
    seen = 0
    for run_id, choice in (
        ("", ""),
        ("run_push", "Start the step over"),
        ("run_two", "It happened"),
        ("run_report", "Allow more attempts"),
    ):
        panel.open(run_id)
        if choice:
            panel.choose(choice)
            panel.submit()
            panel.page.wait_for_function("Alpine.store('recovery').phase === 'ready'")
        texts = panel.still().page.evaluate(LOOK)
        seen += len(texts)
        assert [text for text in texts if text["ratio"] < text["least"]] == []
        if panel.one(".rx").count():
            panel.close()

    assert seen > 100


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_notices_can_be_read(tab: Callable[..., Panel], site: Site, theme: str) -> None:
    panel = tab(light=theme == "light")
    site.scene(off={"code": "host_changed", "files": ["agent.py"], "text": ""})
    panel.open()
    panel.page.get_by_role("heading", name="Durable Execution did not start.").wait_for()
    off = panel.page.evaluate(LOOK)
    panel.close()
    site.scene()
    site.fail("recovery_list", "store_locked", "Locked.")
    panel.open()
    panel.page.get_by_role("heading", name="The journal could not be read.").wait_for()
    unreadable = panel.page.evaluate(LOOK)

    assert len(off) > 4
    assert len(unreadable) > 4
    assert [text for text in off + unreadable if text["ratio"] < text["least"]] == []
