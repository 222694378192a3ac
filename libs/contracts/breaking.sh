#!/bin/sh
# Fails when the contracts in protos/ break what was promised: compares them with frozen.binpb.gz, the compiled contracts of
# the last release or freeze, or with those of a git revision where one is named. Needs no network. Packages named
# `internal` promise nothing and are left out.
set -eu
cd "$(dirname "$0")/../.."
bin=${BIN:-.venv/bin}
against=${1:-}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
old=libs/contracts/frozen.binpb.gz
if [ -n "$against" ]; then
    git archive "$against" protos | tar -x -C "$made"
    old=$made/old.binpb.gz
    "$bin/python" libs/contracts/generate.py --promised "$old" --protos "$made/protos"
fi
"$bin/python" libs/contracts/generate.py --promised "$made/new.binpb.gz"
if ! "$bin/buf" breaking "$made/new.binpb.gz" --against "$old" --config buf.yaml --path footnote; then
    echo "This breaks what callers and stages of other makes rely on. Before a release, where it is meant: make protos-freeze"
    exit 1
fi
echo "no breaking change since ${against:-the contracts were frozen}"
