#!/usr/bin/env bash
# mypy over journal and bridge, then over bench. The first under the name that they have in Agent Zero: bridge reaches journal by a
# relative import, which needs the parent that only the host gives it. The link lives in the cache.
# Run by `make lint` through scripts/setup.sh, from the top of the checkout.
set -euo pipefail

names=$VIRTUAL_ENV/cache/types
plugin=usr/plugins/durable_execution
mkdir -p "$names/usr/plugins"
ln -sfn "$PWD" "$names/$plugin"
MYPYPATH=$names mypy --namespace-packages --explicit-package-bases \
    -p usr.plugins.durable_execution.journal -p usr.plugins.durable_execution.bridge "$@" 2>&1 \
    | sed "s|^[^ ]*$plugin/||"
mypy --follow-imports=silent -p bench
