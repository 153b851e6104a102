#!/usr/bin/env bash
# Scores memoryd on one set: starts a throw-away server, loads the set, asks its questions, scores the answers.
#   bench/eval.sh DIR [SCORE.PY]      DIR holds turns.jsonl and questions.jsonl; SCORE.PY is DIR/../score.py unless given
# KEEP=1 leaves the folder with the run and the server's log.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
set_dir=$(cd "$1" && pwd)
score=$(realpath "${2:-$set_dir/../score.py}")
source "$(dirname "$0")/start.sh"
"$work/bench" eval --server "$url" --set "$set_dir" --out "$work/run.jsonl"
python3 "$score" "$set_dir" "$work/run.jsonl"
