# One door. Every target does its own set-up; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

ARGS ?=
CHECK ?=
DECISION ?= confirmed_completed
PEERS ?=
EFFECTS ?=
PAIR ?=
POINT ?=
PORT ?= 0
WORKERS ?= 3

run := scripts/setup.sh
need_host = test -n "$(A0_ROOT)" && test -n "$(A0_PYTHON)" || { echo "$$needs" >&2; exit 2; }

define needs
These tests run against a real Agent Zero, on a private copy of it. They need:
  A0_ROOT    a git checkout of an Agent Zero version that UPSTREAM.json lists
  A0_PYTHON  a Python 3.12 with the requirements of that checkout installed
For example: make host A0_ROOT=/path/to/agent-zero A0_PYTHON=/path/to/venv/bin/python
endef
export needs A0_ROOT A0_PYTHON

.PHONY: help demo thorough test test-panel shots quick faults recovery lint points crash mutants host host-cost bench pins setup clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## a small host with the plugin and one held run; CHECK=1 plays the story (DECISION= EFFECTS= PORT=)
	@$(run) $(if $(CHECK),,--page )python scripts/demo.py --port "$(PORT)" --decision "$(DECISION)" --effects "$(EFFECTS)" $(if $(CHECK),--check)

test: ## every test that needs no Agent Zero, in WORKERS= processes (ARGS= go to pytest)
	@$(run) --browser python -m pytest -n "$(WORKERS)" $(ARGS)

thorough: ## more cases of what make test tries, left out there for their time (ARGS=)
	@$(run) --browser python -m pytest -n "$(WORKERS)" -m thorough $(ARGS)

quick: ## the inner loop: no crash tests, no browser
	@$(run) python -m pytest -m "not crash and not browser and not postgres and not faults and not thorough" $(ARGS)

test-panel: ## the browser tests alone, with nothing skipped (ARGS=)
	@$(run) --browser env NOTHING_SKIPPED=1 python -m pytest -m "not faults" tests/panel tests/bridge/test_refhost_page.py $(ARGS)

shots: ## pictures of every state of Recovery in build/shots; with A0_ROOT= and A0_PYTHON= those of the README as well
	@$(run) --browser python -m tests.panel.shots build/shots $(ARGS)
	@$(if $(A0_ROOT),$(run) --browser python -m tests.live.shots docs/pictures)

faults: ## break the journal in every way that we know, one line for each, with counts (EXAMPLES= of each property, ARGS=)
	@$(run) --faults env FAULTS_EXAMPLES="$(or $(EXAMPLES),500)" python -m pytest -m "faults or properties" --timeout 3600 -q tests/unit tests/store tests/faults $(ARGS)

recovery: ## recovery that cannot hurt: crash loops, ten crashes of one run, kills while a chat is brought back
	@$(run) python -m pytest tests/recovery $(ARGS)

lint: ## ruff and mypy
	@$(run) ruff check .
	@$(run) ruff format --check .
	@$(run) scripts/types.sh

points: ## list the named points at which processes are killed
	@$(run) python -m tests.points list

crash: ## kill a server at every point, then at every pair (POINT= PAIR= choose, ARGS=--resume goes on, ARGS="--workers 2")
	@$(run) python -m tests.points crash --point "$(POINT)" --pair "$(PAIR)" $(ARGS)

mutants: ## put deliberate faults into copies of the tree and see each caught (ARGS= are words of their names)
	@$(run) python -m tests.mutants $(ARGS)

host: ## tests against a real Agent Zero (needs A0_ROOT= and A0_PYTHON=)
	@$(need_host)
	@$(run) --browser python -m pytest $(wildcard tests/host) tests/live $(ARGS)

host-cost: ## what the plugin costs a turn on a real Agent Zero (needs A0_ROOT= and A0_PYTHON=)
	@$(need_host)
	@$(run) python -m tests.live.cost $(ARGS)

bench: ## what the journal costs, beside raw SQLite (PEERS=1: and other engines; A0_ROOT= A0_PYTHON=: and in Agent Zero; ARGS=--quick)
	@$(run) $(if $(PEERS),scripts/peers.sh )python -m bench $(ARGS)

pins: ## rewrite UPSTREAM.json from an Agent Zero checkout (needs A0_ROOT=)
	@test -n "$(A0_ROOT)" || { echo 'make pins needs A0_ROOT=/path/to/agent-zero, a git checkout of a released version.' >&2; exit 2; }
	@$(run) python scripts/pins.py "$(A0_ROOT)"

setup: ## make the development environment ready and print its Python
	@$(run)

clean: ## remove what the tools made; never a journal
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
