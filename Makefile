# Two commands do everything on a fresh machine: `make demo` and `make test`. Both may be run again at any time.

# `make test PYTHON=python3.13` has an environment of its own, .venv-3.13.
VENV := $(or $(VENV),.venv$(if $(PYTHON),-$(shell "$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])')))
PY := $(VENV)/bin/python
# Tests and demos talk to this machine only.
export SPARK_LOCAL_IP := 127.0.0.1
# Modules are compiled once, and not again in each process that a test starts.
export PYTHONDONTWRITEBYTECODE :=
# What scripts/setup makes: an environment for flows and demos; and for tests and linting too.
ENVIRONMENT := $(VENV)/environment
TOOLS := $(VENV)/tools
# And for the documentation site, an environment of its own.
DOCS := $(VENV)-docs/docs
# Spark's classes as its JVM wants them; see tests/classes.py.
CLASSES := $(VENV)/classes.jsa
# Each of two workers has a share of the tests, and takes from the other what that has not come to.
PYTEST := $(PY) -m pytest -n 2 --dist worksteal -o tmp_path_retention_policy=failed

.DEFAULT_GOAL := help
.PHONY: help demo test check pythons lint format bench docs dist setup clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-8s %s\n", $$1, $$2}'

$(ENVIRONMENT): pyproject.toml constraints.txt scripts/setup
	@VENV=$(VENV) PYTHON="$(PYTHON)" bash scripts/setup

$(TOOLS): pyproject.toml constraints.txt scripts/setup
	@VENV=$(VENV) PYTHON="$(PYTHON)" bash scripts/setup tools

$(DOCS): pyproject.toml constraints.txt scripts/setup
	@VENV=$(VENV) PYTHON="$(PYTHON)" bash scripts/setup docs

$(CLASSES): constraints.txt scripts/setup | $(TOOLS)
	@echo "archive of Spark's classes, once for this environment …"
	@. ./$(ENVIRONMENT) && $(PY) -m tests.classes $@

setup: $(TOOLS) ## Set up what the other commands need; they do it themselves

demo: $(ENVIRONMENT) ## Show what Tidegate does
	@. ./$(ENVIRONMENT) && $(VENV)/bin/tidegate demo

test: $(TOOLS) ## Run the whole test suite, linting and type checks included
	@$(MAKE) --no-print-directory -j2 lint $(CLASSES)
	@bash scripts/setup postgres
	@bash scripts/setup browser
	@echo "tests …"
	@. ./$(ENVIRONMENT) && $(PYTEST) -m "not slow"

check: $(TOOLS) $(DOCS) ## Run the long version: more examples, and the slow tests
	@$(MAKE) --no-print-directory -j2 lint $(CLASSES)
	@bash scripts/setup postgres
	@bash scripts/setup browser
	@echo "tests, the slow ones too …"
	@. ./$(ENVIRONMENT) && HYPOTHESIS_PROFILE=check $(PYTEST)

pythons: ## Run the tests without Spark on each Python here, 3.11 to 3.13
	@bash scripts/pythons

lint: $(TOOLS) ## Check format, style and types
	@echo "format, style and types …"
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy

format: $(TOOLS) ## Format the code and mend what can be mended
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

bench: $(TOOLS) ## Run the quick benchmarks; see bench/README.md for the others
	@. ./$(ENVIRONMENT) && for script in bench/bench_*.py '-m bench.peers' '-m bench.aggregates' '-m bench.aggregates.locally'; do echo "== $$script"; $(PY) $$script --quick || exit 1; done

docs: $(DOCS) ## Build the documentation site, in build/site
	@$(dir $(DOCS))bin/python -m scripts.website

dist: $(ENVIRONMENT) ## Build a wheel and a source archive, in dist
	@rm -rf dist
	@$(PY) -m hatchling build

clean: ## Remove the environments and all caches
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
