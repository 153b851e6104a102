# memoryd: the commands a person needs. `make help` lists them.
export GOTOOLCHAIN := go1.27.3
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The race detector makes the transpiled SQLite fifteen times slower and finds nothing there that is ours to mend.
NORACE := -gcflags='github.com/ncruces/go-sqlite3-wasm/...=-race=false'
CC_FOUND := $(shell command -v gcc 2>/dev/null || command -v clang 2>/dev/null)
ifneq ($(CC_FOUND),)
  RACE := -race $(NORACE)
endif

.PHONY: help run build check fmt vet lint test race-note benchmarks bench

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST)

run: build ## build, start the server on an embedded store, print what to try
	@./bin/memoryd serve

build: ## build bin/memoryd, one static binary
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -o bin/memoryd ./cmd/memoryd

check: fmt vet lint race-note test benchmarks ## everything that must hold: format, vet, staticcheck, tests, docs, benchmarks once

fmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt these files:"; echo "$$out"; exit 1; fi

vet:
	go vet ./...

lint:
	go run $(STATICCHECK) ./...

race-note:
ifeq ($(CC_FOUND),)
	@echo "no C compiler: the tests run without the race detector"
	@if [ "$$CI" = "true" ]; then echo "CI=true needs one"; exit 1; fi
endif

test:
	go test $(RACE) -shuffle=on -timeout 20m ./...

benchmarks:
	go test -run '^$$' -bench . -benchtime 1x ./...

bench: build ## measure: see bench/README.md
	@cat bench/README.md
