# Two commands for people: `make demo` and `make test`. Both install what is missing (Debian packages, tools from
# PyPI and crates.io), and are quick the second time. `make check` is the short form of `make test` while working.
.PHONY: demo test deps check lint audit docs nextest test-citus truth truth-quick sdk-test ui ui-lint ui-test e2e screenshots measure-ui bench bench-publish bench-memory bench-spans bench-regenerate bench-search bench-experiments bench-overview bench-effects bench-erase bench-large bench-learning bench-scale bench-retention chaos openapi fuzz sbom

SHELL := bash

# cargo-nextest passes what .cargo/config.toml sets on as environment, plain cargo does not; without this each of them
# builds SQLite anew after the other.
export LIBSQLITE3_FLAGS := $(shell sed -n 's/^LIBSQLITE3_FLAGS = "\(.*\)"/\1/p' .cargo/config.toml)

# Build, fill ./demo-data (once) and serve it; prints the address. Ctrl-C stops it.
demo: deps-build
	@$(MAKE) --no-print-directory ui || echo "going on without the dashboard: it needs Node 20 or newer"
	cargo build --profile demo --bin evenhand
	target/demo/evenhand demo --data-dir demo-data

# Everything: formatting, lints, dependencies, spelling, docs, generated files, unit and integration tests on SQLite
# and PostgreSQL, simulated intervals and decisions, the client libraries and other ways in, the dashboard's component
# tests, the dashboard in a real browser, and the ways it is deployed. What is after the Rust tests waits more than it
# works: two at a time.
test: deps lint audit ui-lint docs ui nextest
	@$(MAKE) --no-print-directory test-citus ON_CITUS='test(/^(publish|isolation)::/) & test(/case_2_postgres/)'
	@$(MAKE) --no-print-directory -j2 --output-sync=target sdk-test e2e truth-quick ui-test test-deployment

# While working: format, lints of the code that ships, unit tests and spelling. Needs no server and no browser, and
# leaves the integration tests out, whose building takes longest.
check: deps-build
	cargo fmt --check
	@scripts/typos
	cargo clippy --workspace --lib --bins -- -D warnings
	cargo test --workspace --lib --bins --quiet

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings

# Licences, sources and duplicates of the dependencies, unused ones, and spelling.
audit:
	@scripts/typos
	@scripts/audit

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet

# Tests note here what they could not test on this machine.
NOT_RUN := $${CARGO_TARGET_DIR:-target}/tmp/not-run

# Tests and the binary in one build: built apart, with other features of its dependencies, the service would be compiled
# a second time.
debug-build:
	cargo build --workspace --tests --bins --quiet

# One of the tests compares the checked-in specification with that of the binary.
nextest: debug-build
	@rm -f $(NOT_RUN)
	TMPDIR=$$(scripts/memory-folder) scripts/with-postgres cargo nextest run --workspace; status=$$?; \
		[ ! -s $(NOT_RUN) ] || scripts/skipped "tests that need what is not here" "$$(cat $(NOT_RUN))"; exit $$status

# The integration tests of PostgreSQL on a Citus cluster; of `make test` those of publishing and of isolation. CITUS is a
# program that runs a command beside a cluster of its own, with the coordinator's URL in TEST_CITUS_URL and the workers'
# in TEST_CITUS_WORKERS. ON_CITUS says which tests.
ON_CITUS ?= test(/::case_2_postgres/)
test-citus:
	@if [ ! -x "$(CITUS)" ]; then scripts/skipped "tests on Citus" "no Citus: name the program that starts a cluster in CITUS"; exit 0; fi; \
		$(MAKE) --no-print-directory debug-build && \
		TMPDIR=$$(scripts/memory-folder) $(CITUS) cargo nextest run --workspace -E '$(ON_CITUS)'

# Whether intervals and decisions hold what they promise, in simulations with known truth: every line against its bound.
# In full it takes some thirty minutes on two cores, reduced half a minute. The development build serves both:
# it has crates/stats optimised.
truth:
	cargo run --quiet -p stats --example truth

truth-quick:
	cargo run --quiet -p stats --example truth -- --quick

# The Python and TypeScript clients, examples/opentelemetry and imports, with the real packages they work with, against
# the real binary.
sdk-test: debug-build
	scripts/test-sdks

# The dashboard, into ui/dist/site, which all but debug builds embed. Nothing is done again that is up to date.
ui: ui/dist/.built

ui/node_modules/.installed: ui/package.json ui/package-lock.json
	@node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'
	cd ui && npm ci --no-audit --no-fund --prefer-offline
	touch $@

ui/dist/.built: ui/node_modules/.installed openapi.json ui/index.html ui/vite.config.ts ui/tsconfig.json \
		$(shell find ui/src ui/public -type f -not -name '*.gen.ts')
	cd ui && npm run --silent bundle
	touch $@

# Format and lint of the dashboard's code; `npm run format` in ui/ writes the format.
ui-lint: ui/node_modules/.installed
	cd ui && npm run --silent lint

# Whether the types of the interface still fit, then the tests of components.
ui-test: ui
	cd ui && npm run --silent test

# The real binary on demo data, in Chromium. Pictures of every page are left in target/ui-screenshots.
e2e: ui debug-build
	@scripts/install-missing chromium:chromium
	cd ui && npm run --silent e2e

# The pictures in the README, from a full demo.
screenshots: deps-build ui
	@scripts/install-missing chromium:chromium
	cargo build --profile demo --bin evenhand
	cd ui && BINARY=../target/demo/evenhand npm run --silent screenshots

# How fast the overview opens and changes, in Chromium on a full demo. Prints figures and asserts nothing.
measure-ui: deps-build ui
	@scripts/install-missing chromium:chromium
	cargo build --profile demo --bin evenhand
	cd ui && BINARY=../target/demo/evenhand npm run --silent measure

# Random requests by every role and none over openapi.json, on both engines: no server error, no undescribed answer.
# CASES per engine; 30000 is what a release gets.
CASES ?= 3000
fuzz: debug-build
	scripts/with-postgres scripts/fuzz --cases $(CASES)

# The bill of materials, CycloneDX, into target/sbom.cdx.json. Needs no network once everything is fetched.
sbom:
	@mkdir -p $${CARGO_TARGET_DIR:-target}
	scripts/sbom > $${CARGO_TARGET_DIR:-target}/sbom.cdx.json

# Writes the checked-in specification anew.
openapi:
	cargo run --quiet --bin evenhand -- openapi > openapi.json

# What people install. BINARY is a binary that is there already; without it the one that is needed is built first.
# See docs/installing.md.
.PHONY: release static install deb image test-package test-image test-deployment
TARGET := $(or $(CARGO_TARGET_DIR),target)
MUSL := $(shell uname -m)-unknown-linux-musl
STATIC := $(or $(BINARY),$(TARGET)/$(MUSL)/release/evenhand)

release: deps-build ui
	cargo build --release --bin evenhand

# Runs on every Linux: no libraries. SQLite, ring and mimalloc are C, which musl-gcc compiles.
static: deps-build ui
	@scripts/install-missing musl-gcc:musl-tools
	rustup target add $(MUSL)
	cargo build --release --bin evenhand --target $(MUSL)

# Binary, completions and manual into PREFIX (/usr/local), below DESTDIR if given.
install: $(if $(BINARY),,release)
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/install "$(or $(BINARY),$(TARGET)/release/evenhand)"

deb: $(if $(BINARY),,static)
	packaging/deb "$(STATIC)" "$(TARGET)/package"

image: $(if $(BINARY),,static)
	packaging/image "$(STATIC)"

# Each in what it is for: dpkg and systemd in a container, podman, helm. What cannot run on a machine says so.
test-package: $(if $(BINARY),,static)
	scripts/test-package "$(STATIC)"

test-image: $(if $(BINARY),,static)
	scripts/test-image "$(STATIC)"

test-deployment: $(if $(BINARY),,debug-build)
	scripts/test-deployment $(BINARY)

# Load programs; they print tables and assert nothing. See docs/performance.md. They start the release binary, all but
# bench_judge, which holds the judge itself and is linked like the binary.
RELEASE_AND = cargo build --release --bin evenhand && cargo build --profile bench --example
bench: bench-publish bench-memory bench-spans bench-regenerate bench-search bench-experiments bench-overview bench-effects bench-erase bench-large bench-learning bench-scale bench-retention

bench-publish:
	$(RELEASE_AND) bench_publish
	target/release/examples/bench_publish
	target/release/examples/bench_publish --turns 10
	FSYNC=on scripts/with-postgres target/release/examples/bench_publish --postgres

bench-memory:
	$(RELEASE_AND) bench_memory
	target/release/examples/bench_memory

bench-spans:
	$(RELEASE_AND) bench_spans
	target/release/examples/bench_spans
	FSYNC=on scripts/with-postgres target/release/examples/bench_spans --postgres

bench-regenerate:
	$(RELEASE_AND) bench_regenerate
	target/release/examples/bench_regenerate
	FSYNC=on scripts/with-postgres target/release/examples/bench_regenerate --postgres

# The second run: only what other people have grows.
bench-search:
	$(RELEASE_AND) bench_search
	target/release/examples/bench_search
	target/release/examples/bench_search --sizes 3000,30000,300000 --agent-playbooks 600 --clients 8
	target/release/examples/bench_search --sizes 30000 --clients 8 --trials
	FSYNC=on scripts/with-postgres target/release/examples/bench_search --sizes 30000 --clients 8 --trials --postgres

bench-experiments:
	$(RELEASE_AND) bench_experiment_results
	target/release/examples/bench_experiment_results

bench-effects:
	$(RELEASE_AND) bench_effects
	target/release/examples/bench_effects
	FSYNC=on scripts/with-postgres target/release/examples/bench_effects --postgres

bench-overview:
	$(RELEASE_AND) bench_overview
	target/release/examples/bench_overview
	FSYNC=on scripts/with-postgres target/release/examples/bench_overview --postgres

bench-erase:
	$(RELEASE_AND) bench_erase
	target/release/examples/bench_erase

# Fills a gigabyte, in about half a minute; the figures of docs/performance.md are of `--gigabytes 5`.
bench-large:
	$(RELEASE_AND) bench_large
	target/release/examples/bench_large

bench-learning:
	$(RELEASE_AND) bench_learning
	target/release/examples/bench_learning
	FSYNC=on scripts/with-postgres target/release/examples/bench_learning --postgres

# Publishes and verdicts on SQLite and PostgreSQL in one run, with their processor time. See docs/scaling.md.
bench-scale:
	$(RELEASE_AND) bench_scale
	FSYNC=on scripts/with-postgres $(CITUS) target/release/examples/bench_scale

bench-retention:
	$(RELEASE_AND) bench_retention
	target/release/examples/bench_retention
	FSYNC=on scripts/with-postgres target/release/examples/bench_retention --postgres
	FSYNC=on scripts/with-postgres target/release/examples/bench_retention --months 0,24,60

# Three replicas on PostgreSQL, then on Citus if CITUS starts one, while servers and databases are killed, for ten
# minutes. Fails if something is lost.
chaos:
	$(RELEASE_AND) bench_chaos
	target/release/examples/bench_chaos --seconds 600
	[ ! -x "$(CITUS)" ] || $(CITUS) target/release/examples/bench_chaos --seconds 600 --citus

# How well the rules and the learned judge do on sessions with known outcomes: DATA is a file or a folder of them, in
# the form that `bench_judge --help` describes.
bench-judge:
	cargo build --release -p judge --example bench_judge
	$${CARGO_TARGET_DIR:-target}/release/examples/bench_judge $(DATA)

# How much is learned from the sessions in DATA, and what: a listing to read.
bench-learning-quality:
	cargo build --release --example bench_learning_quality
	$${CARGO_TARGET_DIR:-target}/release/examples/bench_learning_quality $(DATA)

.PHONY: deps-build debug-build bench-judge bench-learning-quality
deps-build:
	@scripts/install-missing cc:gcc make:make

deps: deps-build
	@scripts/install-missing pg_config_dir:postgresql pgbouncer:pgbouncer python3:python3 nginx:nginx-light cargo-nextest:@cargo-nextest
	@scripts/python-client >/dev/null || [ $$? -eq 3 ]
