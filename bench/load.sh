#!/usr/bin/env bash
# Counts durable adds over HTTP on a throw-away server.
#   bench/load.sh [--clients 16] [--seconds 5]
# The data is under TMPDIR: have that on the disk that is to be measured (a tmpfs is none).
set -euo pipefail
source "$(dirname "$0")/start.sh"
"$work/bench" load --server "$url" "$@"
