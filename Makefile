# Every word here is explained by `make help`.
SHELL := /bin/bash
GO ?= go
TIME ?= 30s
SEED ?= 0
TOOLS := $(CURDIR)/.tools
STATICCHECK_VERSION := v0.8.2
GOFUMPT_VERSION := v0.12.0
RACE := CGO_ENABLED=1 $(GO) test -race

.PHONY: help need build wasm demo test lint fuzz bench soak check js clean
.DEFAULT_GOAL := help

help: ## say what each word does
	@awk -F '## ' '/^[a-z]+:.*## /{split($$1, w, ":"); printf "  make %-8s %s\n", w[1], $$2}' $(MAKEFILE_LIST)

need: # say precisely what is missing
	@command -v $(GO) >/dev/null || { echo "missing: Go 1.26 or newer (the command 'go')"; exit 1; }
	@command -v $${CC:-cc} >/dev/null || command -v gcc >/dev/null || { echo "missing: a C compiler (cc or gcc); the document core is C"; exit 1; }
	@case "$$($(GO) env GOOS)" in linux|darwin) ;; *) echo "missing: Linux or macOS; the document core has no build for $$($(GO) env GOOS)"; exit 1;; esac

build: need wasm ## build bin/chaz-peer
	CGO_ENABLED=1 $(GO) build -trimpath -o bin/chaz-peer ./cmd/chaz-peer

EXAMPLE := docs/examples/standup
EMBEDDED := cmd/chaz-peer/demo/standup
wasm: need ## build the example extension, also into the program for its demo
	@mkdir -p $(EXAMPLE)/dist $(EMBEDDED)
	cd $(EXAMPLE) && GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags='-s -w' -o dist/standup.wasm .
	@cp $(EXAMPLE)/manifest.json $(EXAMPLE)/dist/
	@cp $(EXAMPLE)/dist/manifest.json $(EXAMPLE)/dist/standup.wasm $(EMBEDDED)/

demo: build ## the main job with real processes: three peers with lying clocks share a session and agree
	./bin/chaz-peer demo

test: need js wasm ## all tests under the race detector
	cd $(EXAMPLE) && $(GO) test ./...
	$(RACE) ./...

js: # what the test against JavaScript needs; without Node it skips and says so
	@if command -v npm >/dev/null; then cd docs/jsexport && npm ci --no-audit --no-fund --silent; \
	 else echo "no npm: the test that reads an export in JavaScript will skip"; fi

$(TOOLS)/staticcheck:
	GOBIN=$(TOOLS) $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)

$(TOOLS)/gofumpt:
	GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

lint: need $(TOOLS)/staticcheck $(TOOLS)/gofumpt ## formatting, vet, staticcheck
	@bad=$$($(TOOLS)/gofumpt -l .); test -z "$$bad" || { echo "not formatted (gofumpt -w):"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	$(TOOLS)/staticcheck ./...

fuzz: need ## run every fuzz target for TIME (default 30s) each
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(TIME) $$p || exit 1; \
	  done; done

bench: build ## print the speed table as ratios within this run (docs/bench.md)
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./crdt/... ./extension/... ./node/p2p
	$(GO) run ./docs/bench

soak: build ## real daemons under faults for TIME; SEED=N repeats the plan of a run
	$(GO) test ./node/sim/soak -run '^TestSoak$$' -count=1 -v -timeout 0 -args -soak.exe $(CURDIR)/bin/chaz-peer -soak.time $(TIME) -soak.seed $(SEED)

check: lint test demo ## what CI runs

clean: ## remove what was built
	rm -rf bin .tools docs/jsexport/node_modules docs/bench/automerge-repo/node_modules $(EXAMPLE)/dist $(EMBEDDED)
