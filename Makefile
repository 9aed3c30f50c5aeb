# Two commands do everything on a fresh machine: `make demo` and `make test`. Both may be run again at any time.

VENV ?= .venv
PY := $(VENV)/bin/python
# Tests and demos talk to this machine only.
export SPARK_LOCAL_IP := 127.0.0.1
# What `make` found or installed; see scripts/setup.
ENVIRONMENT := $(VENV)/environment

.DEFAULT_GOAL := help
.PHONY: help demo test check lint format bench clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-8s %s\n", $$1, $$2}'

$(ENVIRONMENT): pyproject.toml constraints.txt scripts/setup
	@VENV=$(VENV) bash scripts/setup

demo: $(ENVIRONMENT) ## Show what Tidegate does
	@. ./$(ENVIRONMENT) && $(VENV)/bin/tidegate demo

test: lint ## Run the whole test suite, linting and type checks included
	@bash scripts/setup postgres
	@. ./$(ENVIRONMENT) && $(PY) -m pytest -n 2 --dist loadgroup -m "not slow"

check: lint ## Run the long version: more examples, and the slow tests
	@bash scripts/setup postgres
	@. ./$(ENVIRONMENT) && HYPOTHESIS_PROFILE=check $(PY) -m pytest -n 2 --dist loadgroup

lint: $(ENVIRONMENT) ## Check format, style and types
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy

format: $(ENVIRONMENT) ## Format the code and mend what can be mended
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

bench: $(ENVIRONMENT) ## Run the quick benchmarks; see bench/README.md for the others
	@. ./$(ENVIRONMENT) && for script in bench/bench_*.py; do echo "== $$script"; $(PY) $$script --quick || exit 1; done

clean: ## Remove the environment and all caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
