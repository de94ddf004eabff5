# The four things people want from a checkout. Each does its own set-up: see scripts/setup.
#
#   make demo ARGS="--for 60s"    arguments for the command go in ARGS

SHELL := /bin/sh
# A shell that was open before rustup was installed does not have cargo in its PATH yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test bench lint

help:
	@echo 'make demo    throttle a small service on this kernel, explain it, give it more (30 s of load each)'
	@echo '             ARGS="--for 60s" passes arguments on'
	@echo 'make test    everything that CI runs: format, lints, tidy, tests, documentation'
	@echo 'make bench   the published bars, measured on this machine'
	@echo 'make lint    format, lints and tidy only'

demo:
	@scripts/demo $(ARGS)

test:
	@scripts/setup test
	cargo xtask ci

bench:
	@scripts/setup build
	cargo xtask bench $(ARGS)

lint:
	@scripts/setup lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --release -- -D warnings
	cargo xtask tidy
