# make run: set everything up and run the starter set. make test: set everything up and run the tests.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup run test check lint lock lock-environments clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

setup: $(VENV)/.installed ## create .venv and the starter sandbox environment
	@$(BIN)/bigcodeflow env build starter

$(VENV)/.installed: requirements.lock pyproject.toml
	@deployments/system-packages.sh
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 13); sys.exit(None if ok else "bigcodeflow needs Python 3.11, 3.12 or 3.13: make setup PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

run: setup ## evaluate the starter answers; a second run ends in seconds
	@$(BIN)/bigcodeflow run starter

test: setup ## the default test suite
	$(BIN)/python -m pytest -m "not slow"

check: setup ## the slow tests, in the pinned environment of BigCodeBench
	@$(BIN)/bigcodeflow env build bigcodebench
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.installed ## formatting, lint, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: ## pin every dependency again, with hashes and without index addresses
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--upgrade --group dev pyproject.toml --output-file requirements.lock

UV_COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --no-annotate
ENVIRONMENTS := configs/environments

lock-environments: ## pin the libraries of the sandbox environments again
	$(UV_COMPILE) --universal --python-version 3.11 $(ENVIRONMENTS)/starter.in --output-file $(ENVIRONMENTS)/starter.lock
	$(UV_COMPILE) --python-version 3.10 --python-platform linux --constraint $(ENVIRONMENTS)/bigcodebench.constraints \
		$(ENVIRONMENTS)/bigcodebench.in --output-file $(ENVIRONMENTS)/bigcodebench.lock

clean: ## remove the virtual environment (the sandbox environments stay: see bigcodeflow env remove)
	rm -rf $(VENV)
