# Two commands for people: `make demo` and `make test`. Both install what is missing (Debian packages), and are
# quick the second time.
.PHONY: demo test deps check lint docs nextest bench bench-publish bench-regenerate bench-search bench-experiments bench-overview bench-erase openapi

SHELL := bash

# cargo-nextest passes what .cargo/config.toml sets on as environment, plain cargo does not; without this each of them
# builds SQLite anew after the other.
export LIBSQLITE3_FLAGS := $(shell sed -n 's/^LIBSQLITE3_FLAGS = "\(.*\)"/\1/p' .cargo/config.toml)

# Build, fill ./demo-data (once) and serve it; prints the address. Ctrl-C stops it.
demo: deps-build
	cargo build --release --bin evenhand
	target/release/evenhand demo --data-dir demo-data

# Everything: formatting, lints, docs, generated files, unit and integration tests on SQLite and PostgreSQL.
test: deps lint docs openapi-fresh nextest

lint:
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --quiet

nextest:
	cargo build --tests --quiet
	scripts/with-postgres cargo nextest run

# Writes the checked-in specification anew.
openapi:
	cargo run --quiet --bin evenhand -- openapi > openapi.json

openapi-fresh:
	@cargo run --quiet --bin evenhand -- openapi | cmp -s - openapi.json \
		|| { echo "openapi.json is stale: run 'make openapi' and commit it" >&2; exit 1; }

# Load programs; they print tables and assert nothing. See docs/operations.md.
bench: bench-publish bench-regenerate bench-search bench-experiments bench-overview bench-erase

bench-publish:
	cargo build --release --bin evenhand --example bench_publish
	target/release/examples/bench_publish
	FSYNC=on scripts/with-postgres target/release/examples/bench_publish --postgres

bench-regenerate:
	cargo build --release --bin evenhand --example bench_regenerate
	target/release/examples/bench_regenerate
	FSYNC=on scripts/with-postgres target/release/examples/bench_regenerate --postgres

# The second run: only what other people have grows.
bench-search:
	cargo build --release --example bench_search
	target/release/examples/bench_search
	target/release/examples/bench_search --sizes 3000,30000,300000 --agent-playbooks 600 --clients 8

bench-experiments:
	cargo build --release --bin evenhand --example bench_experiment_results
	target/release/examples/bench_experiment_results

bench-overview:
	cargo build --release --bin evenhand --example bench_overview
	target/release/examples/bench_overview

bench-erase:
	cargo build --release --bin evenhand --example bench_erase
	target/release/examples/bench_erase

.PHONY: deps-build openapi-fresh
deps-build:
	@scripts/install-missing cc:gcc make:make

deps: deps-build
	@scripts/install-missing pg_config_dir:postgresql python3:python3 cargo-nextest:@cargo-nextest
