# Two commands: `make demo` makes a real release, `make test` runs everything that must pass.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test,sql,plot]'
	touch $(READY)

.PHONY: demo test lint clean
demo: $(READY)
	$(BIN)/python -m gnomon.demo

test: lint
	$(BIN)/python -m pytest -n auto -q

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo-release
