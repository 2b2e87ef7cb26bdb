# Every target works from a fresh clone: it creates .venv and installs what it needs there, once.

VENV := .venv
BIN := $(VENV)/bin
# The second name is the one that newer versions of pip read for the build backend.
PIP_INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
	PIP_ROOT_USER_ACTION=ignore $(BIN)/python scripts/install.py

# Tests and Spark start hundreds of Python processes: each would compile all of penstock anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

.PHONY: help
help: ## Show this list
	@echo "penstock: make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: $(VENV)/installed-test ## Run all tests (ARGS="-k take" is passed on to pytest)
	@scripts/ensure-java
	@scripts/ensure-browser
	@scripts/ensure-servers
	scripts/test-all $(BIN)/python $(ARGS)

.PHONY: spark-versions
spark-versions: $(VENV)/installed-test ## Run a share of the Spark tests with the oldest PySpark that is supported
	@scripts/ensure-java
	scripts/test-spark-oldest $(BIN)/python $(VENV)-pyspark-oldest $(ARGS)

.PHONY: fast
fast: $(VENV)/installed-test ## Run the tests that need no Spark
	@scripts/ensure-browser
	@scripts/ensure-servers
	$(BIN)/python -m pytest --ignore tests/spark --numprocesses auto --dist worksteal $(ARGS)

.PHONY: free-threaded
free-threaded: ## Run the engine's tests on a free-threaded Python, its GIL off (PYTHON=python3.14t)
	scripts/test-free-threaded $(or $(PYTHON),$$(scripts/free-threaded-python)) .venv-free-threaded $(ARGS)

.PHONY: spark
spark: $(VENV)/installed-test ## Run the tests that need Spark
	@scripts/ensure-java
	scripts/test-spark $(BIN)/python $(ARGS)

.PHONY: explore
explore: $(VENV)/installed-test ## Run a million schedules of the engine's parts (ARGS="--part merge" for one)
	$(BIN)/python -m tests.explore --schedules 1000000 --jobs $$(nproc) $(ARGS)

.PHONY: demo
demo: $(VENV)/installed-demo ## Run a year of flights through Spark, under demand
	@scripts/ensure-java
	$(BIN)/python examples/demo.py $(ARGS)

.PHONY: check
check: $(VENV)/installed-check ## Check style, types and layers (ruff, mypy, pyright, import-linter)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache

.PHONY: format
format: $(VENV)/installed-check ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(VENV)/installed-bench ## Measure penstock against hand-written loops and its peers
	$(BIN)/python -m benchmarks $(ARGS)

.PHONY: bench-spark
bench-spark: $(VENV)/installed-test ## Measure penstock on Spark against hand-written PySpark
	@scripts/ensure-java
	$(BIN)/python -m benchmarks.spark $(ARGS)

.PHONY: bench-connectors
bench-connectors: $(VENV)/installed-test ## Measure the connectors against loops over the same clients
	@scripts/ensure-servers
	$(BIN)/python -m benchmarks.connectors $(ARGS)

.PHONY: soak
soak: $(VENV)/installed-test ## Run 10,000 micro-batches and see whether anything grows (ARGS="--batches 500")
	@scripts/ensure-java
	$(BIN)/python -m benchmarks.soak $(ARGS)

.PHONY: bench-operators
bench-operators: $(VENV)/installed-bench ## Measure every operator by itself
	$(BIN)/python -m benchmarks.operators $(ARGS)

.PHONY: bench-pair
bench-pair: $(VENV)/installed-bench ## Compare every row with another tree (BASE=a revision or a folder)
	$(BIN)/python -m benchmarks.pair $(or $(BASE),HEAD) $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/installed-test ## Run random chains on every path against models (ARGS="--chains 1000")
	$(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: docs
docs: $(VENV)/installed-docs ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

.PHONY: house
house: $(VENV)/installed-check ## Draw the rooms of the code for docs/house.md, and check the walks there
	$(BIN)/python -m scripts.house

.PHONY: lock
lock: ## Pin the newest allowed version of everything in constraints.txt
	scripts/lock constraints.txt

.PHONY: clean
clean: ## Remove .venv and everything built or cached
	rm -rf $(VENV) .venv-* site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# One file per group of dependencies says when it was installed, so that later runs start at once.
$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@$(PIP_INSTALL) "Installing penstock[$*] into $(VENV)" $(BIN)/python -m pip install --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@scripts/create-venv $(VENV)
