# Everything a developer or a machine runs. `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help setup run build web test soak test-clients test-small-model test-plugins test-web bench bench-web

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing (the others do it too)
	@scripts/setup

run: setup ## build and start the server with its web app; the link it prints opens it
	@scripts/web --if-possible
	cargo run --release --package deft-cli -- serve

web: setup ## the web app, which the next build takes into the binary
	@scripts/web

build: setup ## the static release binary
	@scripts/web --if-possible
	cargo build --release --package deft-cli
	@echo "built $${CARGO_TARGET_DIR:-target}/$$(rustc --print host-tuple)/release/deft"

test: setup ## every check: format, lints, tests
	@scripts/test

soak: setup ## new stories and damaged logs for the engine, for SECONDS (default 600)
	DEFT_SOAK_SECONDS=$(or $(SECONDS),600) cargo test --locked --package deft-engine --test it soak -- --ignored --nocapture

test-small-model: setup ## the same tests against a real, small model, which it installs
	@scripts/small-model

test-clients: setup ## the official clients of the protocol against our server
	@scripts/test-clients

test-plugins: setup ## the plugins of images, each built on a real Debian by a real engine
	@scripts/test-plugins

test-web: setup ## the web app in a real browser
	@scripts/test-web

bench: setup ## the numbers
	@scripts/bench

bench-web: setup ## the numbers of the web app alone, with the release binary that is there
	@scripts/bench-web
