# make run: set everything up and run the starter set. make test: set everything up and run the tests.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Workers of pytest; tests wait for processes most of the time, so that three keep two cores busy.
PYTEST_WORKERS ?= 3
# Hundreds of processes import the package in the tests: bytecode is kept even where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run up down gradio test check check-engines check-long lint docs lock lock-environments clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

setup: $(VENV)/.installed ## create .venv and the starter sandbox environment
	@$(BIN)/bigcodeflow env build starter

$(VENV)/.installed: requirements.lock pyproject.toml
	@deployments/system-packages.sh
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 13); sys.exit(None if ok else "bigcodeflow needs Python 3.11, 3.12 or 3.13: make setup PYTHON=python3.12")'
	@echo 'installing the packages of requirements.lock and bigcodeflow into $(VENV) …'
	@$(PYTHON) -m venv --clear $(VENV)
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --quiet --require-hashes --no-deps -r $(VENV)/uv.lock
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --require-hashes --no-deps -r requirements.lock
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation --editable .
	@touch $@

run: setup ## evaluate the starter answers; a second run ends in seconds
	@$(BIN)/bigcodeflow run starter

up: setup ## start a Prefect server with its UI, a worker and all deployments
	@$(BIN)/bigcodeflow up

down: ## stop them
	@$(BIN)/bigcodeflow down

gradio: setup ## a space at http://127.0.0.1:7860 that executes here: a page, and endpoints for programs
	@$(BIN)/python -m bigcodeflow.serving.space --environment starter --port 7860

test: setup ## the default test suite
	$(BIN)/python -m pytest -m "not slow" --numprocesses $(PYTEST_WORKERS)

check: ## all of CI's parts, whether or not their files changed; records the suites that passed in .ci/passed.json
	@.ci/run --all

check-engines: setup ## vLLM and transformers on this machine's CPU, asked by the real pipeline
	@$(BIN)/bigcodeflow env build vllm-cpu
	@$(BIN)/bigcodeflow env build transformers-cpu
	$(BIN)/python -m pytest -m slow tests/extensions/engines/test_offline_engines.py

check-long: setup ## what no other target runs: browsers, hosts that are cut off, whole images, new examples, PostgreSQL
	$(BIN)/python -m pytest -m long
	BIGCODEFLOW_TEST_ALL_EXAMPLES=1 $(BIN)/python -m pytest -m hypothesis --hypothesis-profile search --numprocesses 2
	BIGCODEFLOW_TEST_DATABASE=postgresql $(BIN)/python -m pytest -m slow tests/endtoend

lint: $(VENV)/.installed ## formatting, lint, types, import contracts and budgets
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python benchmarks/code_size.py

docs: $(VENV)/.installed ## build the documentation site in results/docs; a broken link or reference fails
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -c docs -b html . results/docs
	@echo '<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">Documentation</a>' > results/docs/index.html
	@echo "file://$(CURDIR)/results/docs/index.html"

lock: ## pin every dependency again, with hashes and without index addresses
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--upgrade --group dev --extra google --extra azure --extra bedrock --extra s3 --extra clusters --extra backends \
		--extra gradio --extra mlflow --extra wandb pyproject.toml --output-file requirements.lock

UV_COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --no-annotate
ENVIRONMENTS := configs/environments
ENGINE_COMPILE := $(UV_COMPILE) --no-emit-find-links --python-version 3.11 --python-platform linux
# Where PyTorch's build for the CPU comes from; a folder that holds it: TORCH_CPU="--find-links FOLDER".
TORCH_CPU ?= --torch-backend cpu

lock-environments: ## pin the libraries of the sandboxes and of the engines again
	$(UV_COMPILE) --universal --python-version 3.11 $(ENVIRONMENTS)/starter.in --output-file $(ENVIRONMENTS)/starter.lock
	$(UV_COMPILE) --python-version 3.10 --python-platform linux --constraint $(ENVIRONMENTS)/bigcodebench.constraints \
		$(ENVIRONMENTS)/bigcodebench.in --output-file $(ENVIRONMENTS)/bigcodebench.lock
	$(UV_COMPILE) --python-version 3.13 --python-platform linux --upgrade \
		$(ENVIRONMENTS)/bigcodebench-current.in --output-file $(ENVIRONMENTS)/bigcodebench-current.lock
	$(ENGINE_COMPILE) $(ENVIRONMENTS)/vllm.in --output-file $(ENVIRONMENTS)/vllm.lock
	$(ENGINE_COMPILE) $(ENVIRONMENTS)/transformers.in --output-file $(ENVIRONMENTS)/transformers.lock
	$(ENGINE_COMPILE) $(TORCH_CPU) --excludes $(ENVIRONMENTS)/vllm-cpu.excludes $(ENVIRONMENTS)/vllm-cpu.in \
		--output-file $(ENVIRONMENTS)/vllm-cpu.lock
	$(ENGINE_COMPILE) $(TORCH_CPU) $(ENVIRONMENTS)/transformers-cpu.in \
		--output-file $(ENVIRONMENTS)/transformers-cpu.lock
	$(ENGINE_COMPILE) $(TORCH_CPU) $(ENVIRONMENTS)/trainers-cpu.in \
		--output-file $(ENVIRONMENTS)/trainers-cpu.lock
	$(UV_COMPILE) --python-version 3.12 --python-platform linux $(ENVIRONMENTS)/readers.in \
		--output-file $(ENVIRONMENTS)/readers.lock

clean: ## remove the virtual environment (the sandbox environments stay: see bigcodeflow env remove)
	rm -rf $(VENV)
