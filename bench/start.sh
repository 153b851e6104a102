# Read by eval.sh and load.sh: builds memoryd and bench, and starts a throw-away server on a free port.
# Leaves its address in $url and its folder in $work; both are gone when the script ends (KEEP=1 keeps the folder).
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-go1.27.3}

work=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	[ -z "$server" ] || wait "$server" 2>/dev/null || true
	if [ -n "${KEEP:-}" ]; then echo "kept: $work" >&2; else rm -rf "$work"; fi
}
trap finish EXIT

CGO_ENABLED=0 go build -o "$work/memoryd" ./cmd/memoryd
go build -o "$work/bench" ./bench
: >"$work/empty.yaml"; : >"$work/out"; : >"$work/log"
env -u MEMORYD_KEY "$work/memoryd" serve --config "$work/empty.yaml" --listen 127.0.0.1:0 --data "$work/data" >"$work/out" 2>"$work/log" &
server=$!
url=
for _ in $(seq 200); do
	url=$(sed -n 's/.* listens on \(http:[^ ]*\)$/\1/p' "$work/out")
	[ -z "$url" ] || break
	kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
	sleep 0.05
done
[ -n "$url" ] || { echo "the server did not start" >&2; cat "$work/log" >&2; exit 1; }
