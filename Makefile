# `make demo` makes a real release, `make test` runs everything that must pass on one machine,
# `make test-browser` the page in a real browser, `make test-cluster` what needs a cluster or a database server: it starts them on loopback, and ends them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test,sql,plot,app]'
	touch $(READY)

.PHONY: demo test test-browser test-cluster lint clean
demo: $(READY)
	$(BIN)/python -m gnomon.demo

test: lint
	$(BIN)/python -m pytest -n auto -q

# What is missing and cannot be had in a few minutes is said, and its tests are skipped.
test-cluster: $(READY)
	@tests/cluster/prepare $(BIN)/pip
	GNOMON_TEST_CLUSTER=1 timeout --kill-after=30 540 $(BIN)/python -m pytest -q tests/cluster

AXE := $(VENV)/axe/package/axe.min.js
test-browser: $(VENV)/.ready-browser
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	  timeout 400 apt-get install --yes --quiet --no-install-recommends chromium chromium-driver || \
	  echo "Chromium is missing and cannot be installed here: the browser tests are skipped."
	@test -f $(AXE) || (mkdir -p $(VENV)/axe && cd $(VENV)/axe && timeout 120 npm pack --silent axe-core@4.14.0 >/dev/null && tar xzf axe-core-*.tgz) || \
	  echo "axe-core cannot be fetched from npm here: tests that need it are skipped."
	GNOMON_TEST_BROWSER=1 timeout 1500 $(BIN)/python -m pytest -q tests/browser

$(VENV)/.ready-browser: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test,sql,plot,app,test-browser]'
	touch $@

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo-release
