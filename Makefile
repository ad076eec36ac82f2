# Every target sets up what it needs in .venv first, and finds it ready the second time.
# ARGS is passed on: make test-pure ARGS='tests/unit -k parser', make bench-stream ARGS='--help'.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
SPARK_STAMP := $(VENV)/.spark-ready
PIP := -m pip --disable-pip-version-check --quiet
ARGS ?=

# The first interpreter that is recent enough; `make PYTHON=...` chooses another.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$python; break; }; done)

# Run before a virtual environment is made.
define need_python
@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "selfmaint needs Python 3.11 or later: install it, or name one with 'make PYTHON=...'." >&2; \
  exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
  echo "$(PYTHON) cannot make virtual environments: install its venv module (on Debian, the package python3-venv)." >&2; \
  exit 1; }
endef

# Run when there is no Java that Spark can use. Debian releases differ in the ones they have.
define install_java
if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
  echo "Installing a Java runtime ..."; \
  export DEBIAN_FRONTEND=noninteractive; \
  { apt-get update; for release in 17 21; do \
      apt-get install --yes --no-install-recommends "openjdk-$$release-jre-headless" && break; \
    done; } >/dev/null 2>&1; \
fi
endef

# Runs the tests of folders that need Spark, on one kind of session.
SPARK_FOLDER = tests/spark
SPARK_TEST = $(BIN)/python -m pytest -m spark --durations=5 --durations-min=2 $(SPARK_FOLDER) $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help setup spark test test-pure test-spark test-long test-laws test-cluster test-connect
.PHONY: check format
.PHONY: life life-cluster life-connect
.PHONY: demo bench bench-paper bench-stream bench-growth mutants wheel lock clean

help: ## show this list
	@echo "Targets (make TARGET [ARGS=...]):"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## install the project and its development tools, as pinned, into .venv

spark: setup $(SPARK_STAMP) ## fetch Delta's jars and, where it may, install Java

test: test-pure test-spark ## run the tests that need no JVM, and the quick ones on Spark

test-pure: setup ## run all tests that need no JVM (HYPOTHESIS_PROFILE=dev, ci or nightly; ci if unset)
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} $(BIN)/python -m pytest --durations=5 --durations-min=2 $(ARGS)

test-spark: spark ## run the quick Spark tests (tests/spark) in one process
	SPARK_TESTS_ON=local $(SPARK_TEST)

test-long: SPARK_FOLDER = tests/long
test-long: spark ## run the Spark tests that take long (tests/long) in one process
	SPARK_TESTS_ON=local $(SPARK_TEST)

test-laws: SPARK_FOLDER = property_tests/spark
test-laws: spark ## hold Spark to the reference on random programs (HYPOTHESIS_PROFILE, as for test-pure)
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} SPARK_TESTS_ON=local $(SPARK_TEST)

test-cluster test-connect: SPARK_FOLDER = tests/spark tests/long
test-cluster: spark ## run the Spark tests, quick and long, with executors that are processes of their own
	SPARK_TESTS_ON=cluster $(SPARK_TEST)

test-connect: spark ## run the Spark tests, quick and long, over Spark Connect
	SPARK_TESTS_ON=connect $(SPARK_TEST)

life: life-cluster life-connect ## run one long test of a warehouse on both of these

life-cluster life-connect: SPARK_FOLDER = tests/long
life-cluster life-connect: life-%: spark
	SPARK_TESTS_ON=$* $(SPARK_TEST) -k test_a_life

check: setup ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## sort imports, apply safe lint fixes and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

demo: spark ## decide a few changes, then maintain a shop's views on Spark, with a chart
	@$(BIN)/python -m examples.demo
	@$(BIN)/python -m examples.shop $(ARGS)

bench: spark ## speed of compiler and runtime, with JSON; then the three benchmarks in short
	@$(BIN)/python -m tests.bench
	@$(BIN)/python -m tests.bench.runtime
	@$(BIN)/python -m tests.bench.runtime --million --out build/bench-million.json
	@$(BIN)/python -m bench.paper --quick --out build/short/paper.json
	@$(BIN)/python -m bench.paper.on_spark --quick --out build/short/paper-spark.json
	@$(BIN)/python -m bench.stream --quick --out build/short/stream.json
	@$(BIN)/python -m bench.growth --quick --out build/short/growth.json

bench-paper: spark ## Huyn's experiment, here and on Spark: JSON, CSV, PNG and HTML into build/
	@$(BIN)/python -m bench.paper $(ARGS)
	@$(BIN)/python -m bench.paper.on_spark $(ARGS)

bench-stream: SF = 0.1
bench-stream: spark ## TPC-H as a living warehouse (SF=1: ten times as much): JSON, CSV, PNG and HTML into build/
	@$(BIN)/python -m bench.stream --scale $(SF) $(ARGS)

bench-growth: spark ## what a batch costs as things grow: JSON, CSV, PNG and HTML into build/
	@$(BIN)/python -m bench.growth $(ARGS)

mutants: setup ## break the rules one at a time and show that the tests notice (ARGS=--spark: those on Spark)
	@$(BIN)/python -m tests.mutants $(ARGS)

wheel: setup ## build the wheel, check its content, install it elsewhere and import it
	@$(BIN)/python -m tests.wheel

lock: ## pin the newest versions that pyproject.toml allows in constraints.txt
	$(need_python)
	@echo "Resolving the newest versions ..."
	@rm -rf .lock && $(PYTHON) -m venv .lock
	@.lock/bin/python $(PIP) install '.[dev,spark,demo,bench]'
	@{ echo "# Every package that '.[dev,spark,demo,bench]' installs. Written by 'make lock'; do not edit."; \
	   .lock/bin/python $(PIP) freeze --exclude selfmaint; } > .lock/constraints.txt
	@mv .lock/constraints.txt constraints.txt && rm -rf .lock
	@echo "Wrote constraints.txt; 'make setup' installs it."

clean: ## remove .venv and everything else that can be made again
	rm -rf $(VENV) .lock build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp holds the folder it was made in, since a virtual environment cannot be moved: a copied
# or moved checkout, an interrupted setup and a vanished interpreter all start afresh.
# Build tools come first: pyspark is published as source, and an older setuptools makes no wheels.
HOME_OF_VENV := $(shell test -x $(BIN)/python && cat $(STAMP) 2>/dev/null)
ifneq ($(HOME_OF_VENV),$(CURDIR))
.PHONY: $(STAMP)
endif

$(STAMP): pyproject.toml constraints.txt
	$(need_python)
	@echo "Setting up $(VENV) ..."
	@test "$(HOME_OF_VENV)" = "$(CURDIR)" || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python $(PIP) install --constraint constraints.txt hatchling 'setuptools>=70.1'
	@$(BIN)/python $(PIP) install --constraint constraints.txt --no-build-isolation --editable '.[dev,spark,demo,bench]'
	@echo "$(CURDIR)" > $(STAMP)

$(SPARK_STAMP): $(STAMP) warehouse/jars.py warehouse/java.py warehouse/versions.py
	@echo "Setting up Spark ..."
	@$(BIN)/python -m warehouse.java 2>/dev/null || { $(install_java); true; }
	@$(BIN)/python -m warehouse.java
	@$(BIN)/python -m warehouse.jars
	@touch $(SPARK_STAMP)
