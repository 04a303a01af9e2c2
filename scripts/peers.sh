#!/usr/bin/env bash
# Runs a benchmark with the other engines in reach: makes an environment of their own from requirements/peers.txt, once,
# and hands its Python to the given command as --peers. Where they cannot be had it runs without them and says so.
# Run by `make bench PEERS=1` through scripts/setup.sh, from the top of the checkout.
set -euo pipefail

pins=requirements/peers.txt
room=$VIRTUAL_ENV/cache/peers-$(sha256sum "$pins" | cut -c1-12)
if [ ! -e "$room/ready" ]; then
    rm -rf "$room"
    if python -m venv "$room" && "$room/bin/python" -m pip install --quiet --requirement "$pins" >&2; then
        touch "$room/ready"
    else
        printf '%s\n' "The other engines could not be installed; the benchmark runs without them." >&2
        exec "$@"
    fi
fi
exec "$@" --peers "$room/bin/python"
