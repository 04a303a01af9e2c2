"""What a person can set, see or run is written down: settings, codes, routes, hooks, names, commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted((ROOT / "docs").rglob("*.md"))
DOCS = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
HOOKS = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")


def trees(*rooms: str) -> Iterator[tuple[Path, ast.Module]]:
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def named(text: str, word: str) -> bool:
    """The word stands in the text as code, alone or with more beside it, or in a command as NAME=."""
    return re.search(rf"`[^`\n]*\b{re.escape(word)}\b[^`\n]*`|\b{re.escape(word)}=", text) is not None


def test_every_setting_is_documented() -> None:
    lines = (ROOT / "default_config.yaml").read_text(encoding="utf-8").splitlines()
    settings = [line.split(":")[0].strip() for line in lines if re.match(r"\w+\s*:", line)]

    assert settings
    assert [name for name in settings if not named(DOCS, name)] == []


def test_every_error_code_is_documented_with_the_api() -> None:
    codes = set()
    for _, tree in trees("journal", "bridge"):
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            is_code = any(isinstance(target, ast.Name) and target.id == "code" for target in targets)
            value = getattr(node, "value", None)
            if is_code and isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                codes.add(value.value)
    families = {"journal_error", "refused", "conflict", "corrupt", "unavailable"}

    assert len(codes) > len(families)
    assert sorted(code for code in codes - families if not named(API, code)) == []


def test_every_status_that_the_border_answers_is_documented() -> None:
    tree = ast.parse((ROOT / "bridge" / "web.py").read_text(encoding="utf-8"))
    table = next(node.value for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "STATUS")
    statuses: dict[str, int] = ast.literal_eval(table)
    rows = [line for line in API.splitlines() if line.startswith("|")]

    assert statuses
    for code, status in statuses.items():
        assert any(named(row, code) and f"| {status} |" in row for row in rows), f"{code} with status {status}"


def test_a_family_that_is_raised_as_such_has_a_status() -> None:
    families = {
        "Refused": "refused",
        "Conflict": "conflict",
        "Corrupt": "corrupt",
        "Unavailable": "unavailable",
        "JournalError": "journal_error",
    }
    calls = [ast.unparse(node.func) for _, tree in trees("journal", "bridge") for node in ast.walk(tree) if isinstance(node, ast.Call)]
    tree = ast.parse((ROOT / "bridge" / "web.py").read_text(encoding="utf-8"))
    table = next(node.value for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "STATUS")

    assert "Conflict" in calls
    assert sorted({families[name] for name in calls if name in families} - set(ast.literal_eval(table))) == []


def test_every_field_of_the_status_is_documented() -> None:
    section = API.split("### `status", 1)[1].split("\n### ", 1)[0]
    fields = set()
    for room in ("service", "lifecycle"):
        tree = ast.parse((ROOT / "bridge" / f"{room}.py").read_text(encoding="utf-8"))
        status = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "status")
        answers = [node.value for node in ast.walk(status) if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict)]
        fields |= {key.value for answer in answers for key in answer.keys if isinstance(key, ast.Constant)}

    assert {"active", "counts", "why_not"} <= fields
    assert sorted(field for field in fields if not named(section, field)) == []


def test_every_reason_not_to_start_is_documented() -> None:
    section = API.split("### `status", 1)[1].split("\n### ", 1)[0]
    codes = set()
    for _, tree in trees("bridge"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"_NotReady", "_refuse"}:
                codes |= {each.value for each in node.args[:1] if isinstance(each, ast.Constant)}

    assert "internal" in codes
    assert sorted(code for code in codes if not named(section, code)) == []


def test_every_api_file_is_a_documented_route_and_the_other_way_round() -> None:
    files = {path.stem for path in (ROOT / "api").glob("*.py")}
    headings = set(re.findall(r"^### `(\w+)", API, re.M))

    assert files
    assert headings == files


def test_every_hook_file_is_documented() -> None:
    base = ROOT / "extensions" / "python"
    hooks = sorted({path.relative_to(base).parent.as_posix().removeprefix("_functions/") for path in base.rglob("*.py")})

    assert hooks
    assert [hook for hook in hooks if f"`{hook}`" not in HOOKS] == []


def test_every_documented_hook_exists() -> None:
    base = ROOT / "extensions" / "python"
    listed = re.findall(r"^\| `([\w/]+)` \|", HOOKS, re.M)

    assert listed
    assert [hook for hook in listed if not any((base / hook).glob("*.py")) and not any((base / "_functions" / hook).glob("*.py"))] == []


def test_every_wrapped_host_function_is_documented() -> None:
    names = [
        f"{path.relative_to(ROOT / 'overrides').with_suffix('').as_posix().replace('/', '.')}.{node.name}"
        for path, tree in trees("overrides")
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert names
    assert [name for name in names if f"`{name}`" not in HOOKS] == []


def test_every_environment_name_is_documented() -> None:
    names = set()
    for _, tree in trees("journal", "bridge", "api", "tools", "extensions", "scripts"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"os.environ.get", "os.getenv", "environ.get"}:
                names.add(node.args[0])
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"os.environ", "environ"}:
                names.add(node.slice)
    words = {node.value for node in names if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words |= set(re.findall(r"\$\{([A-Z_]+):-", (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")))
    words |= set(re.findall(r"\$\((A0_\w+)\)", (ROOT / "Makefile").read_text(encoding="utf-8")))
    given = {"HOME", "PATH", "TMPDIR", "XDG_CACHE_HOME", "PYENV_ROOT"}  # the system's, not ours

    assert words - given
    assert sorted(word for word in words - given if not named(DOCS, word)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_named_in_a_page_are_make_targets(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    text = page.read_text(encoding="utf-8")
    code = re.findall(r"```.*?```|`[^`\n]+`", text, re.S)
    named_targets = {target for piece in code for target in re.findall(r"\bmake ([a-z][a-z-]*)", piece)}

    assert sorted(named_targets - targets) == []


def test_every_place_names_the_same_version() -> None:
    manifest = re.search(r"^version: (\S+)$", (ROOT / "plugin.yaml").read_text(encoding="utf-8"), re.M)
    project = re.search(r'^version = "(\S+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    loaded = re.search(r'^VERSION = "(\S+)"$', (ROOT / "bridge" / "edition.py").read_text(encoding="utf-8"), re.M)
    changes = re.search(r"^## (\d\S*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)

    assert manifest
    assert [found and found[1] for found in (project, loaded, changes)] == [manifest[1]] * 3


def test_the_plugin_ships_switched_off() -> None:
    assert (ROOT / ".toggle-0").read_bytes() == b""


def test_the_readme_shows_how_to_try_test_and_look_further() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    for command in ("make demo", "make demo CHECK=1", "make test"):
        assert command in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    links = re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", text)

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_map_of_the_rooms_names_every_module() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    bridge, journal = page.split("## Rooms")[1].split("```")[1].split("journal/turns", 1)
    drawn = {"bridge": bridge, "journal": f"turns{journal}"}

    missing = [
        f"{room}/{path.name}"
        for room, text in drawn.items()
        for path in sorted((ROOT / room).glob("[a-z]*.py"))
        if not re.search(rf"\b{path.stem}\b", text)
    ]

    assert missing == []
