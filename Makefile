# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo quick test polyglot lint format protos protos-lint bench clean

$(VENV)/.installed: pyproject.toml constraints.txt hatch_build.py libs/contracts/generate.py $(shell find protos -name '*.proto')
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

setup: $(VENV)/.installed

demo: setup
	$(BIN)/python deploy/demo.py

# The loop while one works: what needs no server and no long measurement.
quick: setup
	$(BIN)/python -m pytest tests/unit tests/contract --ignore tests/unit/linear -m "not bench and not slow" -n auto -q

test: setup
	$(BIN)/python -m pytest tests/unit tests/contract -m "not bench" -n auto
	$(BIN)/python -m pytest tests/integration tests/conformance tests/e2e tests/faults -m "not bench" -n 2 --dist loadfile

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

bench: setup
	$(BIN)/python -m pytest tests/bench -m bench -s

clean:
	rm -rf $(VENV) libs/contracts/src/footnote
