"""`python -m tests.mutants`: applies each fault to a private copy of the tree and sees that its tests notice.

The checkout itself is never changed. The tests are run on the copy without a fault first: a test that fails anyway
would prove nothing.
"""

from __future__ import annotations

import argparse
import difflib
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.mutants.catalogue import MUTANTS, Mutant

CHECKOUT = Path(__file__).resolve().parents[2]
LEFT_OUT = {".git", ".venv", "build", "dist", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
PATIENCE_S = 300
CAUGHT_BY_PYTEST = 1  # tests failed; anything else is a mistake of the entry


class Copy:
    """A private copy of the tree, in which one fault at a time is in place."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        shutil.copytree(CHECKOUT, self.tree, ignore=lambda _, names: {n for n in names if n in LEFT_OUT or n == "__pycache__"})

    def problem(self, mutant: Mutant) -> str:
        """Try one fault: "" if it was caught."""
        path = self.tree / mutant.file
        sound = path.read_text("utf-8") if path.exists() else ""
        faulty = sound
        for old, new in mutant.changes:
            if sound.count(old) != 1:
                return f"its text is {sound.count(old)} times in {mutant.file}: the entry must follow the code"
            faulty = faulty.replace(old, new)
        if not (mutant.tests or mutant.cases):
            return "no test is named"
        path.write_text(faulty, "utf-8")
        try:
            return self._survives(mutant)
        finally:
            path.write_text(sound, "utf-8")

    def _survives(self, mutant: Mutant) -> str:
        said = []
        for command in commands(mutant.tests, mutant.cases):
            done = self.run(command)
            failed = "FAILED" in done.stdout or "ERROR tests" in done.stdout
            if done.returncode == CAUGHT_BY_PYTEST and failed:
                return ""
            said.append(f"{' '.join(command)}: exit code {done.returncode}")
            if done.returncode != 0:
                return f"the fault could not be tried: {said[-1]}\n{(done.stdout + done.stderr)[-3000:]}"
        return "SURVIVED\n" + "\n".join(said) + "\n" + shown(mutant)

    def run(self, command: list[str], patience: float = PATIENCE_S) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPYCACHEPREFIX", "PYTEST_ADDOPTS")}
        env["PYTEST_DEBUG_TEMPROOT"] = str(self.tree.parent)  # of its own: others may tidy up the common one
        env["PYTHONDONTWRITEBYTECODE"] = "1"  # a fault has the size and the second of the sound text: no stale code may be found
        try:
            return subprocess.run(
                [sys.executable, *command], cwd=self.tree, env=env, capture_output=True, text=True, timeout=patience, check=False
            )
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(command, 124, str(error.stdout or ""), "It took too long.")


def commands(tests: tuple[str, ...], cases: tuple[str, ...]) -> list[list[str]]:
    """Unit tests first: most faults are caught there within a second or two."""
    found = []
    if tests:
        found.append(["-m", "pytest", "-x", "-q", "-p", "no:randomly", *tests])
    for case in cases:
        found.append(["-m", "tests.points", "crash", "--workers", "1", "--point", case if "/" in case else f"{case}/"])
    return found


def shown(mutant: Mutant) -> str:
    parts = [difflib.unified_diff(old.splitlines(), new.splitlines(), mutant.file, "fault", lineterm="") for old, new in mutant.changes]
    return "\n".join(line for part in parts for line in part)


def sound_tests_pass(copy: Copy, chosen: list[Mutant]) -> bool:
    tests = tuple(sorted({test for mutant in chosen for test in mutant.tests}))
    cases = tuple(sorted({case for mutant in chosen for case in mutant.cases}))
    for command in commands(tests, cases):
        done = copy.run([part for part in command if part != "-x"], 10 * PATIENCE_S)
        if done.returncode != 0:
            print(f"Without any fault this fails: {' '.join(command)}\n{(done.stdout + done.stderr)[-6000:]}")
            return False
    return True


class Round:
    """One round over the chosen faults, by a few copies at once."""

    def __init__(self, chosen: list[Mutant]) -> None:
        self._todo: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        for mutant in chosen:
            self._todo.put(mutant)
        self._lock = threading.Lock()
        self.missed = 0

    def run(self, copies: list[Copy]) -> None:
        drivers = [threading.Thread(target=self._drive, args=(copy,)) for copy in copies]
        for driver in drivers:
            driver.start()
        for driver in drivers:
            driver.join()

    def _drive(self, copy: Copy) -> None:
        while True:
            try:
                mutant = self._todo.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            problem = copy.problem(mutant)
            with self._lock:
                self.missed += bool(problem)
                word, spent = "MISSED" if problem else "caught", time.monotonic() - began
                print(f"{word} {spent:6.1f} s  {mutant.name} ({mutant.file})", flush=True)
                if problem:
                    print(problem, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="only faults whose name or file has all of these words")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-baseline", action="store_true", help="do not run the tests without a fault first")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if all(word in f"{m.name} {m.file}" for word in options.words)]
    cache = Path(sys.prefix, "cache")  # beside the environment: what tidies up the common folder leaves it alone
    cache.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=cache) as folder:
        copies = [Copy(Path(folder, str(number))) for number in range(options.workers)]
        if not options.no_baseline and not sound_tests_pass(copies[0], chosen):
            return 1
        trying = Round(chosen)
        trying.run(copies)
    print(f"caught {len(chosen) - trying.missed} of {len(chosen)}")
    return 1 if trying.missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
