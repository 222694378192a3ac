# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo quick test faults polyglot lint format protos protos-lint bench bench-peers benches clean

$(VENV)/.installed: pyproject.toml constraints.txt hatch_build.py libs/contracts/generate.py $(shell find protos -name '*.proto')
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,e5]'
	touch $@

setup: $(VENV)/.installed

demo: setup
	$(BIN)/python deploy/demo.py

# The loop while one works: what needs no server and no long measurement, and of large matrices a sample. Bytecode is
# kept whatever the surroundings say: without it each worker and each service that a test starts compiles every file
# anew. One worker more than there are cores, since some tests wait.
quick: setup
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest tests/unit tests/contract --ignore tests/unit/linear \
		-m "not bench and not slow and not matrix" \
		-n $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') -q

test: setup
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest tests/unit tests/contract -m "not bench" -n auto
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest tests/integration tests/conformance tests/e2e tests/faults -m "not bench" -n 3 --dist loadfile

# Seeded faults and an audit of everything acknowledged, for ten minutes; `make faults ROUNDS=1000` for a night. What
# fails names its seed: docs/guarantees.md says how to replay it.
faults: setup
	PYTHONDONTWRITEBYTECODE= FOOTNOTE_FAULTS_ROUNDS=$(or $(ROUNDS),0) FOOTNOTE_FAULTS_MINUTES=$(if $(ROUNDS),0,10) \
		$(BIN)/python -m pytest tests/faults/test_harness.py -q

polyglot: setup
	$(BIN)/python tests/polyglot/run.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

protos: setup
	$(BIN)/python libs/contracts/generate.py

protos-lint: setup
	$(BIN)/buf lint
	$(BIN)/buf build
	BIN=$(BIN) libs/contracts/breaking.sh

# What callers of `footnote serve all` get, end to end, beside the bare engine in the same run: a page and a picture in
# bench/. `make bench ARGS=--quick` takes under two minutes; `ARGS="--sizes 10000,50000,200000"`; `ARGS=--growth`.
bench: $(VENV)/.bench
	PYTHONPATH=tests $(BIN)/python -m bench.page $(ARGS)

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

# LanceDB, Haystack, LangChain and LlamaIndex, each in an environment of its own, on the chunks and vectors of this run.
bench-peers: setup
	PYTHONPATH=tests $(BIN)/python -m bench.peers $(ARGS)

# Each bench of a part, by pytest.
benches: setup
	$(BIN)/python -m pytest tests/bench -m bench -s

clean:
	rm -rf $(VENV)
	find libs/contracts/src/footnote -mindepth 1 -maxdepth 1 ! -name client -exec rm -rf {} +
