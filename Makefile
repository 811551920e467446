# heard: `make chat` to talk, `make test` to check. Each does all of its own set-up in .venv, and again only when needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: chat test bench train evaluate format help clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "heard needs Python 3.11 or newer. Name one: make chat PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "Python could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv"; exit 2; }

# A stamp each, so that a second start installs nothing and needs no network.
$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	@echo "Installing heard into $(VENV) (about 1 GB the first time) ..."
	@$(BIN)/python -m pip install --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@echo "Installing heard and its test tools into $(VENV) ..."
	@$(BIN)/python -m pip install --disable-pip-version-check -e '.[train,dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.train: pyproject.toml | $(VENV)/bin/python
	@echo "Installing heard with torch and transformers into $(VENV) ..."
	@$(BIN)/python -m pip install --disable-pip-version-check -e '.[train]'
	@touch $@ $(VENV)/.run

chat: $(VENV)/.run ## install what is missing, fetch the models once, and open the chat on this computer
	@$(BIN)/heard chat $(ARGS)

test: $(VENV)/.dev ## linter, type checker, every test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

bench: $(VENV)/.dev ## speed, memory and crisis-check figures, as ratios within one run
	@$(BIN)/python -m tests.bench $(ARGS)

train: $(VENV)/.train ## train a scorer head: make train ARGS="--data labels.csv --out scorer/heads/mine"
	@$(BIN)/heard train $(ARGS)

evaluate: $(VENV)/.train ## the scorer's table of errors with seeds and spread
	@$(BIN)/heard evaluate $(ARGS)

format: $(VENV)/.dev ## tidy the code
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

clean: ## remove the environment and caches (never your data in var/)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache *.egg-info
