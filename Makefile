# What each target does: make help

SHELL := /bin/bash
GO    ?= go

VERSION := $(or $(shell git describe --tags --always --dirty 2>/dev/null),dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

.DEFAULT_GOAL := build
.PHONY: build demo test race integration lint check bench soak fuzz mutate matrix attack posix cover setup clean help

build: ## build the static binary bin/sandboxfs
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/sandboxfs ./cmd/sandboxfs

demo: build ## show an allowed read, a denied write and its reason on a clone of this repository
	scripts/demo.sh bin/sandboxfs

test: ## everything that a change must pass, from a machine with Go, gcc, git, python3, node and apt
	scripts/test.sh

check: build ## what takes less than a minute: build, lint, unit tests without the race detector
	scripts/lint.sh
	$(GO) test $$($(GO) list ./... | grep -v /integration)

race: setup ## unit and integration tests, tests and daemon both with the race detector
	scripts/test.sh race

integration: setup build ## the integration tests alone
	scripts/test.sh integration

soak: setup ## the long suites whole, for hours
	scripts/test.sh soak

fuzz: ## every fuzz target for SANDBOXFS_FUZZTIME, a minute by default
	scripts/test.sh fuzz

mutate: build ## take each gate away in turn; a test must fail; ARGS='-only rename.go'
	$(GO) run ./internal/mutate -long $(ARGS)

matrix: ## every operation of the protocol, denied, hidden, readonly and unmounted
	scripts/tables.sh matrix

attack: setup build ## every known hole, who tries it, by which test, and what came of it
	scripts/tables.sh attack

posix: ## what each kind of view passes of the conformance suite
	scripts/tables.sh posix

lint: ## gofmt, go vet, the shape of the imports, and words that do not belong
	scripts/lint.sh

bench: build ## compare with bindfs, go-fuse's loopback and no FUSE at all; ARGS=-full for the large trees
	scripts/bench.sh bin/sandboxfs $(ARGS)

cover: build ## coverage of the unit tests, in bin/cover.html
	$(GO) test -coverprofile=bin/cover.out -coverpkg=./... $$($(GO) list ./... | grep -v /integration)
	$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	$(GO) tool cover -func=bin/cover.out | tail -1

setup: ## install the tools that tests and benchmarks call
	scripts/setup.sh

clean: ## remove what these targets made
	rm -rf bin

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
