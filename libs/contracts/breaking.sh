#!/bin/sh
# Compares protos/ with those of a git revision (default: the last release, a tag v*) and fails when a client of that
# revision would break. Needs no network. Before the first release there is nothing to compare with.
set -eu
cd "$(dirname "$0")/../.."
bin=${BIN:-.venv/bin}
against=${1:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
if [ -z "$against" ] || ! git cat-file -e "$against:protos" 2>/dev/null; then
    echo "nothing to compare with: no release has protos/ yet"
    exit 0
fi
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
git archive "$against" protos | tar -x -C "$old"
"$bin/python" libs/contracts/generate.py --image "$old/old.binpb" --protos "$old/protos"
"$bin/python" libs/contracts/generate.py --image "$old/new.binpb"
"$bin/buf" breaking "$old/new.binpb" --against "$old/old.binpb" --config buf.yaml --path footnote
echo "no breaking change since $against"
