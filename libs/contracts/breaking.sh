#!/bin/sh
# Compares protos/ with those of a git revision (default: main as last published, else the commit before
# this one) and fails when a client of that revision would break. Needs no network.
set -eu
cd "$(dirname "$0")/../.."
bin=${BIN:-.venv/bin}
against=${1:-$(git rev-parse --quiet --verify origin/main || git rev-parse --quiet --verify HEAD~1 || true)}
if [ -z "$against" ] || ! git cat-file -e "$against:protos" 2>/dev/null; then
    echo "nothing to compare with: no earlier revision has protos/"
    exit 0
fi
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
git archive "$against" protos | tar -x -C "$old"
"$bin/python" libs/contracts/generate.py --image "$old/old.binpb" --protos "$old/protos"
"$bin/python" libs/contracts/generate.py --image "$old/new.binpb"
"$bin/buf" breaking "$old/new.binpb" --against "$old/old.binpb" --config buf.yaml --path footnote
echo "no breaking change since $against"
