"""The rules between the rooms, executed: who may import whom, and what only one room may do.

R1 the engine is standard library. R2 its modules stand in layers. R3 only bridge/ meets the host.
R4 stubs go through bridge/. R5 overrides are read, not imported. R6 the page knows only the API.
R7 nothing of the product imports tests, the small host or scripts. R8 time, chance, SQL and
secrets have one owner each. Each failure prints the offending line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "usr.plugins.durable_execution"
PRODUCT = ("journal", "bridge", "api", "tools", "extensions", "overrides")
HOST = {"agent", "helpers", "models", "initialize", "run_ui", "plugins", "api", "tools", "extensions"}
# Packages that Agent Zero itself ships and the border may use; the engine may not.
SHIPPED = {"flask"}

# R2: a module imports from its own layer or one above it in this list, never from one below.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"digests", "ids", "clock", "arrivals"}),
    frozenset({"accepted", "telling", "asking"}),
    frozenset({"errors", "records", "values", "codec", "masking", "clean", "finding", "cuts", "spellings", "dumps", "sieve"})
    | frozenset({"silence", "trees", "pins"}),
    frozenset({"sql", "store"}),
    frozenset({"replay", "reviewed", "evidence", "modes", "planner", "preview", "places", "kinds"}),
    frozenset({"scribe"}),
    frozenset({"runs", "attempts", "calls", "checkpoints", "children", "documents", "decisions", "selections", "grants", "inputs"})
    | frozenset({"background"}),
    frozenset({"recovery", "restoring", "retention", "collection", "upkeep", "backup", "restore", "verify", "leaks"}),
    frozenset({"texts", "spent", "timeline", "views", "listing", "document_views", "intake", "reading", "look", "owned", "service"}),
    frozenset({"holds", "driving", "doctor"}),
    frozenset({"steps"}),
    frozenset({"turns"}),
    frozenset({"cli", "__init__", "__main__"}),
)

# R3: bridge modules that may import the host when they are loaded, with the reason.
HOST_AT_LOAD = {
    "bridge/web.py": "base class of the API handlers, imported by files that the host loads itself",
}


@dataclass(frozen=True)
class Import:
    """One imported name, relative imports resolved, and whether it happens when the module loads."""

    path: Path
    line: int
    name: str
    at_load: bool

    @property
    def root(self) -> str:
        return self.name.split(".")[0]

    def __str__(self) -> str:
        return f"{shown(self.path)}:{self.line}: {source_line(self.path, self.line)}"


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def source_line(path: Path, line: int) -> str:
    return path.read_text(encoding="utf-8").splitlines()[line - 1].strip()


def python_files(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        yield from sorted((ROOT / room).rglob("*.py"))
    if "extensions" in rooms:
        yield from (path for path in (ROOT / "hooks.py", ROOT / "execute.py") if path.exists())


def imports(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    package = (*PLUGIN.split("."), *path.relative_to(ROOT).parts[:-1])

    def walk(node: ast.AST, at_load: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(path, child.lineno, alias.name, at_load)
            elif isinstance(child, ast.ImportFrom):
                base = list(package[: len(package) - child.level + 1]) if child.level else []
                base += [child.module] if child.module else []
                for alias in child.names:
                    yield Import(path, child.lineno, ".".join([*base, alias.name]), at_load)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from walk(child, False)
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, at_load and not inside)

    yield from walk(tree, True)


def every_import(*rooms: str) -> Iterator[Import]:
    for path in python_files(*rooms):
        yield from imports(path)


def offending(found: Iterator[Import], wrong: Callable[[Import], bool]) -> list[str]:
    return [str(each) for each in found if wrong(each)]


def own(name: str, *rooms: str) -> bool:
    return any(f"{name}.".startswith(f"{PLUGIN}.{room}.") for room in rooms)


def standard(each: Import) -> bool:
    return each.root in sys.stdlib_module_names


def test_r1_the_engine_imports_the_standard_library_and_itself() -> None:
    def wrong(each: Import) -> bool:
        optional = shown(each.path) == "journal/store/postgres.py" or shown(each.path).startswith("journal/cluster/")
        if optional and not each.at_load and each.root in {"psycopg", "cryptography"}:
            return False
        return not standard(each) and not own(each.name, "journal")

    assert list(python_files("journal"))
    assert offending(every_import("journal"), wrong) == []


def test_r1_inside_packages_our_own_imports_are_relative() -> None:
    lines = []
    for path in python_files("journal", "bridge"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] in {"usr", "journal", "bridge"} for name in names):
                lines.append(f"{shown(path)}:{node.lineno}: {source_line(path, node.lineno)}")

    assert lines == []


def layer(module: str) -> int:
    return next((n for n, names in enumerate(LAYERS) if module in names), -1)


def engine_module(name: str) -> str:
    """The first part below journal of a dotted name; the package itself is its __init__."""
    rest = name.removeprefix(f"{PLUGIN}.journal").lstrip(".").split(".")[0]
    return rest if layer(rest) >= 0 else "__init__"


def test_r2_every_engine_module_has_a_layer() -> None:
    names = {path.relative_to(ROOT / "journal").parts[0].removesuffix(".py") for path in python_files("journal")}

    assert sorted(name for name in names - {"cluster"} if layer(name) < 0) == [], "say in LAYERS where it belongs"


def test_r2_engine_modules_import_from_their_own_layer_or_one_before_it() -> None:
    def wrong(each: Import) -> bool:
        here = each.path.relative_to(ROOT / "journal").parts[0].removesuffix(".py")
        if here == "cluster" or not own(each.name, "journal"):
            return False
        return layer(engine_module(each.name)) > layer(here)

    assert offending(every_import("journal"), wrong) == []


def test_r2_the_engine_has_no_import_cycle() -> None:
    edges: dict[str, set[str]] = {}
    files = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in python_files("journal")}
    for name, path in files.items():
        reached = {each.name.removeprefix(f"{PLUGIN}.") for each in imports(path) if each.at_load}
        known = {target if target in files else target.rpartition(".")[0] for target in reached}
        edges[name] = {target for target in known if target in files and target != name}

    def cycle(name: str, trail: tuple[str, ...]) -> tuple[str, ...]:
        if name in trail:
            return (*trail[trail.index(name) :], name)
        if name in done:
            return ()
        for target in sorted(edges[name]):
            if found := cycle(target, (*trail, name)):
                return found
        done.add(name)
        return ()

    done: set[str] = set()
    assert [" -> ".join(found) for name in sorted(edges) if (found := cycle(name, ()))] == []


def test_r3_only_the_border_knows_the_host() -> None:
    def foreign(each: Import) -> bool:
        return not standard(each) and each.root not in HOST | SHIPPED and not own(each.name, "bridge", "journal")

    def host_at_load(each: Import) -> bool:
        return each.root in HOST and each.at_load and shown(each.path) not in HOST_AT_LOAD

    assert list(python_files("bridge"))
    assert offending(every_import("bridge"), foreign) == []
    assert offending(every_import("bridge"), host_at_load) == []


def test_r4_stubs_import_the_border_and_host_base_classes() -> None:
    def wrong(each: Import) -> bool:
        return not standard(each) and each.root not in HOST and not own(each.name, "bridge")

    assert list(python_files("extensions", "api"))
    assert offending(every_import("extensions", "api", "tools"), wrong) == []


def test_r4_a_file_that_the_host_loads_holds_one_class_and_no_decision() -> None:
    """The loader takes one class per file by name, and such a file is in no package: no state, no own logic."""
    wrong = []
    for path in python_files("extensions", "api"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        if path.parent != ROOT and len(classes) != 1:
            wrong.append(f"{shown(path)}: {len(classes)} classes")
        for node in ast.walk(tree):
            if isinstance(node, ast.For | ast.While | ast.Try | ast.Global):
                wrong.append(f"{shown(path)}:{node.lineno}: {source_line(path, node.lineno)}")

    assert wrong == []


def test_r5_overrides_import_nothing_and_are_imported_by_nobody() -> None:
    assert offending(every_import("overrides"), lambda each: each.name != "__future__.annotations" and each.at_load) == []
    assert offending(every_import(*PRODUCT), lambda each: own(each.name, "overrides")) == []


def test_r6_the_page_asks_only_for_documented_routes() -> None:
    documented = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "api.md").read_text(encoding="utf-8")))
    handlers = {path.stem for path in python_files("api") if path.parent.name == "api"}
    wrong = []
    for path in page_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            routes = re.findall(r"plugins/durable_execution/(\w+)(?![\w/.])", line)
            unknown = set(routes) - (documented & handlers) - {"webui"}
            if unknown or re.search(r"plugin_data|\.sqlite\b", line):
                wrong.append(f"{shown(path)}:{number}: {line.strip()}")

    assert list(page_files())
    assert wrong == []


def page_files() -> Iterator[Path]:
    for room in (ROOT / "webui", ROOT / "extensions" / "webui"):
        yield from sorted(path for path in room.rglob("*") if path.suffix in {".html", ".js"})


def test_r7_the_product_imports_no_tests_no_small_host_no_scripts_and_no_examples() -> None:
    def wrong(each: Import) -> bool:
        rooms = ("tests", "refhost", "scripts", "examples")
        return each.root in rooms or own(each.name, *rooms)

    assert offending(every_import(*PRODUCT), wrong) == []


CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
# How long a wait may last is measured, never recorded: outside the engine a monotonic deadline is no moment of the journal.
STOPWATCHES = {"time.monotonic", "time.monotonic_ns", "time.perf_counter"}
CHANCE = {"uuid", "random", "secrets"}
# Ids of host objects, in the host's own form, where the host would have made one itself. No record of the journal is named by them.
HOST_IDS = {
    "bridge/admission.py": "a message that came without an id, a line of the chat log",
    "bridge/projection.py": "the log of a rebuilt chat, so that open pages draw it anew",
    "bridge/restoring.py": "the log of a kept copy, which is a chat of its own",
}


def test_r8_time_and_chance_come_from_their_two_modules() -> None:
    wrong = []
    for path in python_files("journal", "bridge", "api", "tools", "extensions"):
        if shown(path) in {"journal/clock.py", "journal/ids.py"}:
            continue
        forbidden = CLOCKS | STOPWATCHES if path.is_relative_to(ROOT / "journal") else CLOCKS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ".".join(ast.unparse(node.func).split(".")[-2:]) in forbidden:
                wrong.append(f"{shown(path)}:{node.lineno}: {source_line(path, node.lineno)}")

    def takes_chance(each: Import) -> bool:
        allowed = shown(each.path) in {"journal/clock.py", "journal/ids.py"} or (each.root == "uuid" and shown(each.path) in HOST_IDS)
        return not allowed and (each.root in CHANCE or each.name in CLOCKS)

    wrong += offending(every_import("journal", "bridge", "api", "tools", "extensions"), takes_chance)

    assert wrong == []


SQL = re.compile(r"^\s*(select\s.+\sfrom|insert\s+into|insert\s+or|update\s+\w+\s+set|delete\s+from|create\s+table|pragma)\b", re.I | re.S)


def test_r8_only_the_store_writes_sql() -> None:
    wrong = []
    for path in python_files(*PRODUCT):
        if path.is_relative_to(ROOT / "journal" / "store"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value):
                wrong.append(f"{shown(path)}:{node.lineno}: {source_line(path, node.lineno)}")
    wrong += offending(
        every_import(*PRODUCT),
        lambda each: each.root in {"sqlite3", "psycopg"} and not each.path.is_relative_to(ROOT / "journal" / "store"),
    )

    assert wrong == []


def test_r1_the_engine_does_not_name_its_host_to_a_person() -> None:
    wrong = []
    for path in python_files("journal"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "Agent Zero" in node.value and id(node) not in explained:
                wrong.append(f"{shown(path)}:{node.lineno}: {source_line(path, node.lineno)}")

    assert wrong == []


def test_r8_only_masking_hides_secrets_and_only_one_module_names_them() -> None:
    wrong = []
    for path in python_files(*PRODUCT):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_mask = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("[hidden:", "§§secret("))
            if is_mask and shown(path) != "journal/masking.py":
                wrong.append(f"{shown(path)}:{node.lineno}: {source_line(path, node.lineno)}")
    wrong += offending(
        every_import(*(room for room in PRODUCT if room != "journal")),
        lambda each: each.name in {"helpers.secrets", f"{PLUGIN}.journal.masking.Secret"} and shown(each.path) != "bridge/secrets.py",
    )

    assert wrong == []
