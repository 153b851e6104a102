#!/usr/bin/env bash
# How search, start and memory behave as the store grows: owners of 1 k, 10 k and 100 k memories, then the one of 10 k
# again while others grow to 1 M (rows are seeded straight into SQL), the start on the full store, memory, binary.
#   bench/growth.sh [OTHERS]      memories of others, 1000000 unless given
set -euo pipefail
others=${1:-1000000}
source "$(dirname "$0")/start.sh"

stop() { kill "$server"; wait "$server" 2>/dev/null || true; server=; }
serve() {
	: >"$work/out"
	local begun=$(date +%s%N)
	env -u MEMORYD_KEY "$work/memoryd" serve --config "$work/empty.yaml" --listen 127.0.0.1:0 --data "$work/data" >"$work/out" 2>>"$work/log" &
	server=$!
	until url=$(sed -n 's/.* listens on \(http:[^ ]*\)$/\1/p' "$work/out"); [ -n "$url" ] && curl -sf -o /dev/null "$url/readyz"; do sleep 0.005; done
	started=$((($(date +%s%N) - begun) / 1000000))
}
rss() { awk '/VmRSS/ {printf "%.0f MiB", $2 / 1024}' "/proc/$server/status"; }
seed() { "$work/bench" seed --db "$work/data/memoryd.db" "$@"; }

stop
seed --first 1 --memories 1000; seed --first 2 --memories 10000; seed --first 3 --memories 100000
serve
echo "memory after the start: $(rss)"
for n in 1 2 3; do "$work/bench" ask --server "$url" --user "owner-$n"; done
echo "memory with 111,000 memories in the index: $(rss)"
for n in 1 2 3; do "$work/bench" ask --server "$url" --user "owner-$n"; done

for part in 10 3 1; do
	stop
	have=${have:-0}; want=$((others / part))
	seed --first $((1000 + have / 1000)) --owners $(((want - have) / 1000)) --memories 1000; have=$want
	serve
	echo "others hold $have memories; first answer $started ms after the start"
	for n in 1 2; do "$work/bench" ask --server "$url" --user owner-2; done
done
echo "binary: $(stat -c %s "$work/memoryd" | awk '{printf "%.1f MB", $1 / 1e6}'), data: $(du -sm "$work/data" | cut -f1) MiB"
