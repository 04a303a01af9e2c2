#!/usr/bin/env bash
# Makes the development environment ready, then runs the given command in it.
# Without a command it prints the interpreter. It installs only what
# requirements/dev.txt pins, and only when that file or the folder changed.
# Exits with 3 where there is no suitable Python, with 1 for anything else that is missing.
#
#   scripts/setup.sh                     make it ready, print the interpreter
#   scripts/setup.sh --page …            the same, and see that the small host's page can be shown
#   scripts/setup.sh --browser …         the same, and see that it can be tested in a Chromium
#   scripts/setup.sh --faults …          the same, and see that a process's system calls can be watched
#   scripts/setup.sh python -m pytest    run something in it
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
pins="$here/requirements/dev.txt"

say() { printf '%s\n' "$*" >&2; }
refuse() {
    say "" "Cannot continue: $1"
    shift
    for line in "$@"; do say "  $line"; done
    exit "${status:-1}"
}

# A name on PATH may be a shim that answers "not found", and a build may lack parts; only a Python that runs counts.
is_suitable() {
    "$1" -c 'import ensurepip, sqlite3, ssl, sys, venv
sys.exit(sys.version_info < (3, 12) or sqlite3.sqlite_version_info < (3, 40))' >/dev/null 2>&1
}

# In an activated environment python is the environment's own: what it was made from stays when it is made anew.
base_of() {
    "$1" -c 'import os, sys
print(sys.executable if sys.prefix == sys.base_prefix else os.path.join(sys.base_prefix, "bin", "python3.%d" % sys.version_info[1]))'
}

# Agent Zero runs on 3.12, so that version comes first; then the newest.
find_python() {
    local candidate root
    for candidate in ${PYTHON:-} python3.12 python3.13 python3; do
        if command -v "$candidate" >/dev/null 2>&1 && is_suitable "$candidate"; then
            base_of "$candidate"
            return
        fi
    done
    root=${PYENV_ROOT:-${HOME:-/nonexistent}/.pyenv}
    while read -r candidate; do
        if is_suitable "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done < <(printf '%s\n' "$root"/versions/3.12*/bin/python3; printf '%s\n' "$root"/versions/3.*/bin/python3 | sort -rV)
    if command -v uv >/dev/null 2>&1; then
        candidate=$(uv python find '>=3.12' 2>/dev/null || { uv python install 3.12 >&2 && uv python find '>=3.12'; }) || true
        if [ -n "$candidate" ] && is_suitable "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    fi
    status=3 refuse "no complete Python 3.12 or newer was found (Agent Zero itself needs 3.12)." \
        "Looked for python3.12, python3.13 and python3 on PATH, in $root/versions, and for uv." \
        "It needs its venv, ssl and sqlite3 modules (SQLite 3.40 or newer). Any one of these brings it:" \
        "  apt-get install python3-venv  (where the distribution's own Python is new enough)" \
        "  pyenv install 3.12            (then run this again)" \
        "  pip install uv                (then run this again; uv brings its own Python)" \
        "  PYTHON=/path/to/python3.12 make test"
}

# The environment lives in the checkout; a checkout that cannot be written keeps it in the user's cache.
home_of_venv() {
    local cache key
    if [ -n "${VENV:-}" ]; then
        printf '%s\n' "$VENV"
    elif [ -w "$here" ]; then
        printf '%s\n' "$here/.venv"
    else
        cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
        mkdir -p "$cache" 2>/dev/null || cache=${TMPDIR:-/tmp}/cache-$(id -u)
        key=$(printf '%s' "$here" | cksum | cut -d ' ' -f 1)
        printf '%s\n' "$cache/durable_execution/venv-$key"
    fi
}

stamp() { printf '%s\n' "$here"; cat "$pins"; }

is_ready() {
    [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' 2>/dev/null \
        && [ -f "$venv/ready" ] && stamp | cmp -s - "$venv/ready"
}

make_venv() {
    local python
    python=$(find_python)
    say "Setting up $venv with $("$python" --version)"
    rm -rf "$venv"
    mkdir -p "$(dirname "$venv")"
    if ! "$python" -m venv "$venv" >"$log" 2>&1; then
        cat "$log" >&2
        refuse "$python could not make a virtual environment in $venv." \
            "Its own message stands above. VENV=/some/folder chooses another place."
    fi
    if ! "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --requirement "$pins" >"$log" 2>&1; then
        cat "$log" >&2
        refuse "the pinned tools of requirements/dev.txt could not be installed." \
            "pip's own message stands above."
    fi
    stamp >"$venv/ready"
}

has_npm() { command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1; }

has_browser() {
    local name
    for name in ${CHROMIUM:-} chromium chromium-browser google-chrome-stable google-chrome; do
        if command -v "$name" >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

# Playwright drives the browser with a program of its own, which leans on a system library.
has_driver() { "$venv"/lib/python3.*/site-packages/playwright/driver/node --version >/dev/null 2>&1; }

has_strace() { command -v strace >/dev/null 2>&1; }

# What the system lacks comes from the distribution's packages, where we may install them.
bring() {
    local check=$1 what=$2
    shift 2
    if "$check"; then return; fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "Installing $*"
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null \
            || tail -n 5 "$log" >&2
    fi
    "$check" || refuse "there is no $what." \
        "On Debian and Ubuntu: apt-get install $*" \
        "Tests that need none of it: make quick"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
venv=$(home_of_venv)

if ! is_ready; then
    # Two commands started together must not build the same folder twice.
    exec 9<"$pins"
    if command -v flock >/dev/null 2>&1; then flock 9; fi
    is_ready || make_venv
    exec 9<&-
fi
case ${1:-} in
    --page | --browser)
        bring has_npm "Node with npm, which brings the parts of the small host's page and runs the panel's own tests" nodejs npm
        if [ "$1" = --browser ]; then
            bring has_browser "Chromium, in which the panel is tested (CHROMIUM=/path names one)" chromium fonts-dejavu-core
            bring has_driver "libatomic, without which Playwright cannot drive the browser" libatomic1
        fi
        shift
        ;;
    --faults)
        bring has_strace "strace, with which a process's writes and syncs are recorded" strace
        shift
        ;;
esac
if [ $# -eq 0 ]; then
    printf '%s\n' "$venv/bin/python"
    exit 0
fi

# Every tool keeps its cache beside the environment, so that a run leaves no trace in the checkout.
export PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv"
export PYTHONPYCACHEPREFIX="$venv/cache/pycache" RUFF_CACHE_DIR="$venv/cache/ruff" MYPY_CACHE_DIR="$venv/cache/mypy"
rm -f "$log"
cd "$here"
exec "$@"
