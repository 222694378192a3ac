# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup lock demo quick test test-all test-again test-store faults polyglot apiserver lint style types imports format protos protos-lint protos-freeze bench bench-peers benches client clean

$(VENV)/.installed: pyproject.toml libs/contracts/pyproject.toml requirements.lock libs/contracts/hatch_build.py libs/contracts/generate.py $(shell find protos -name '*.proto')
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable libs/contracts --editable .
	touch $@

setup: $(VENV)/.installed

# Resolves again what pyproject.toml asks for; UPGRADE=1 takes the newest of everything.
lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python deploy/lock.py $(if $(UPGRADE),--upgrade)

demo: setup
	$(BIN)/python deploy/demo.py

# One worker more than there are cores, since some tests wait; two more for the long suite, which waits for a third of its
# time. Files go to workers whole, in the order given, so that the slow ones begin first. Bytecode is kept whatever the
# environment says: without it each worker and each service that a test starts compiles every file again.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
LONG_WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
ALL = tests/faults tests/e2e tests/integration tests/conformance tests/contract tests/unit
SPREAD = --dist loadfile --no-loadscope-reorder -q

# The loop while one works: what needs no server and no long measurement, and of large matrices a sample.
quick: setup
	$(PYTEST) tests/unit tests/contract -m "not bench and not slow and not matrix and not full" -n $(WORKERS) --dist worksteal -q

# Everything of the product once, on real parts, in minutes.
test: setup
	$(PYTEST) $(ALL) -m "not bench and not matrix and not full" -n $(WORKERS) $(SPREAD)

# The rest: matrices in full, long faults, replicas, PostgreSQL and Redis, mutants, timing tables.
test-all: setup
	$(PYTEST) $(ALL) -m "(matrix or full) and not bench" -n $(LONG_WORKERS) $(SPREAD)

# What failed last, alone on the machine: tells a race from a fault. Both are defects; a race is one of order or time.
test-again: setup
	$(PYTEST) $(ALL) -m "not bench" --last-failed --last-failed-no-failures none -v

# The suite of stores and the way from a file to an answer, on a Milvus server, cluster or Zilliz of yours:
# `make test-store URI=http://milvus:19530 TOKEN=user:password`. What it needs and leaves: deploy/helm/footnote/MILVUS.md.
test-store: setup
	@test -n "$(URI)" || { echo "Say which store: make test-store URI=http://host:19530 [TOKEN=user:password]"; exit 2; }
	@FOOTNOTE_TEST_STORE_URI="$(URI)" FOOTNOTE_TEST_STORE_TOKEN="$(TOKEN)" \
		$(PYTEST) tests/integration/test_store_suite.py tests/e2e/test_path.py -q -n 0

# Seeded faults and an audit of everything acknowledged, for ten minutes; `make faults ROUNDS=1000` for a night. What
# fails names its seed: docs/guarantees.md says how to replay it.
faults: setup
	PYTHONDONTWRITEBYTECODE= FOOTNOTE_FAULTS_ROUNDS=$(or $(ROUNDS),0) FOOTNOTE_FAULTS_MINUTES=$(if $(ROUNDS),0,10) \
		$(BIN)/python -m pytest tests/faults/test_harness.py -q

polyglot: setup
	$(BIN)/python tests/polyglot/run.py

# Kubernetes' own API server, five minutes of processor time once, for tests/integration/test_chart_applied.py.
apiserver: build/apiserver/apiserver

build/apiserver/apiserver: $(wildcard tests/support/apiserver/*)
	mkdir -p $(@D)
	cd tests/support/apiserver && go build -trimpath -o $(CURDIR)/$@ \
		-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" .

lint: style types imports

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

# Imports every test: a name that is gone from the code shows here, not in the last suite.
imports: setup
	@mkdir -p build
	@$(PYTEST) tests -n 0 -qq --collect-only > build/collected.txt || { tail -n 30 build/collected.txt; exit 1; }

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

protos: setup
	$(BIN)/python libs/contracts/generate.py

# Style, comments, and whether they break what was promised (libs/contracts/frozen.binpb.gz).
protos-lint: setup
	$(BIN)/buf lint
	$(BIN)/buf build
	BIN=$(BIN) libs/contracts/breaking.sh $(AGAINST)

# Promises the contracts as they are now: at a release, or before one where a break is meant.
protos-freeze: setup
	$(BIN)/python libs/contracts/generate.py --promised libs/contracts/frozen.binpb.gz

# What callers of `footnote serve all` get, end to end, beside the bare engine in the same run: a page and a picture in
# bench/. `make bench ARGS=--quick` takes under two minutes; `ARGS="--sizes 10000,50000,200000"`; `ARGS=--growth`.
bench: setup
	PYTHONPATH=tests $(BIN)/python -m bench.page $(ARGS)

# LanceDB, Haystack, LangChain and LlamaIndex, each in an environment of its own, on the chunks and vectors of this run.
bench-peers: setup
	PYTHONPATH=tests $(BIN)/python -m bench.peers $(ARGS)

# Each bench of a part, by pytest.
benches: setup
	$(BIN)/python -m pytest tests/bench -m bench -s

# The Python client for threads, from the one for an event loop; a test says whether it is current.
client: setup
	$(BIN)/python libs/contracts/sync_client.py

clean:
	rm -rf $(VENV)
	find libs/contracts/src/footnote -mindepth 1 -maxdepth 1 ! -name client -exec rm -rf {} +
