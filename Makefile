# Everything a developer or a machine runs. `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help setup run build test test-clients test-small-model bench

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing (the others do it too)
	@scripts/setup

run: setup ## build and run the demonstration
	cargo run --release --package deft-cli -- demo

build: setup ## the static release binary
	cargo build --release --package deft-cli
	@echo "built $${CARGO_TARGET_DIR:-target}/$$(rustc --print host-tuple)/release/deft"

test: setup ## every check: format, lints, tests
	@scripts/test

test-small-model: setup ## the same tests against a real, small model, which it installs
	@scripts/small-model

test-clients: setup ## the official clients of the protocol against our server
	@scripts/test-clients

bench: setup ## the numbers
	@scripts/bench
