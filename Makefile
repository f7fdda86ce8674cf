# `make demo` makes a real release, `make test` runs everything that must pass on one machine,
# `make docs` builds the documentation, `make test-browser` runs the page in a real browser,
# `make test-cluster` what needs a cluster or a database server: it starts them on loopback, and ends them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test,sql,plot,app,docs]'
	touch $(READY)

.PHONY: demo test test-browser test-cluster docs lint clean
demo: $(READY)
	$(BIN)/python -m gnomon.demo

test: lint
	$(BIN)/python -m pytest -n auto -q

# Executes every example, then builds site/ strictly and without network: a broken link, anchor or example fails.
docs: $(READY)
	$(BIN)/python -m pytest -q -n 2 tests/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# What is missing and cannot be had in a few minutes is said, and its tests are skipped.
test-cluster: $(READY)
	@tests/cluster/prepare $(BIN)/pip
	GNOMON_TEST_CLUSTER=1 timeout --kill-after=30 1200 $(BIN)/python -m pytest -q -n 0 tests/cluster

test-browser: $(READY)
	@tests/browser/prepare $(VENV)
	GNOMON_TEST_BROWSER=1 timeout --kill-after=30 900 $(BIN)/python -m pytest -q -n 2 -rs tests/browser

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks docs/tools
	$(BIN)/ruff format --check src tests benchmarks docs/tools
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo-release site
