# `make demo` makes a real release, `make test` runs everything that must pass on one machine,
# `make test-cluster` what needs a cluster or a database server: it starts them on loopback, and ends them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test,sql,plot,app]'
	touch $(READY)

.PHONY: demo test test-cluster lint clean
demo: $(READY)
	$(BIN)/python -m gnomon.demo

test: lint
	$(BIN)/python -m pytest -n auto -q

# What is missing and cannot be had in a few minutes is said, and its tests are skipped.
test-cluster: $(READY)
	@tests/cluster/prepare $(BIN)/pip
	GNOMON_TEST_CLUSTER=1 timeout --kill-after=30 540 $(BIN)/python -m pytest -q tests/cluster

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo-release
