# heard: `make chat` to talk, `make test` to check. Each does all of its own set-up in .venv, and again only when needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
ARGS ?=
# Exact versions; what may be installed beside them stands in pyproject.toml.
LOCK := requirements.lock
PIP := -m pip --disable-pip-version-check
EXTRAS := chat,train,anthropic,charts,google,hub,langchain,ollama,postgres,voice,dev
RUN_TESTS := -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: chat test quick test-lowest bench train evaluate voice lock format help clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

%/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "heard needs Python 3.11 or newer. Name one: make chat PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $* || { \
	  echo "Python could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv"; exit 2; }

# A stamp each, so that a second start installs nothing and needs no network.
$(VENV)/.run: pyproject.toml $(LOCK) | $(VENV)/bin/python
	@echo "Installing heard into $(VENV) (about 1 GB the first time) ..."
	@$(BIN)/python $(PIP) install -c $(LOCK) -e '.[chat]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(LOCK) | $(VENV)/bin/python
	@echo "Installing heard and its test tools into $(VENV) ..."
	@$(BIN)/python $(PIP) install -c $(LOCK) -e '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.run $(VENV)/.train

$(VENV)/.train: pyproject.toml $(LOCK) | $(VENV)/bin/python
	@echo "Installing heard with torch and transformers into $(VENV) ..."
	@$(BIN)/python $(PIP) install -c $(LOCK) -e '.[chat,train]'
	@touch $@ $(VENV)/.run

$(LOWEST)/.dev: pyproject.toml requirements-lowest.lock | $(LOWEST)/bin/python
	@echo "Installing heard with the oldest libraries that it takes into $(LOWEST) ..."
	@$(LOWEST)/bin/python $(PIP) install -c requirements-lowest.lock -e '.[$(EXTRAS)]'
	@touch $@

chat: $(VENV)/.run ## install what is missing, fetch the models once, and open the chat on this computer
	@$(BIN)/heard chat $(ARGS)

test: $(VENV)/.dev ## linter, type checker, every test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python $(RUN_TESTS) $(ARGS)

quick: $(VENV)/.dev ## linter, type checker and the tests that start no program, in under 90 seconds
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q -n 2 $$(cat tests/quick.txt) $(ARGS)

test-lowest: $(LOWEST)/.dev ## every test with the oldest libraries that pyproject.toml allows
	@$(LOWEST)/bin/python $(RUN_TESTS) --lowest $(ARGS)

bench: $(VENV)/.dev ## speed, memory and crisis-check figures, as ratios within one run
	@$(BIN)/python -m tests.bench $(ARGS)

train: $(VENV)/.train ## train a scorer head: make train ARGS="--data labels.csv --out scorer/heads/mine"
	@$(BIN)/heard train $(ARGS)

evaluate: $(VENV)/.train ## the scorer's table of errors with seeds and spread
	@$(BIN)/heard evaluate $(ARGS)

voice: $(VENV)/.run ## how the default model talks: 320 replies through the chat, judged (docs/voice.md)
	@$(BIN)/heard evaluate-voice $(ARGS)

lock: | .venv-lock/bin/python ## make requirements.lock anew, with the newest libraries that pyproject.toml allows
	@.venv-lock/bin/python $(PIP) install --upgrade -e '.[$(EXTRAS)]'
	@{ sed -n '/^#/p' $(LOCK); \
	  .venv-lock/bin/python $(PIP) freeze --all --exclude-editable --exclude pip | sed 's/+[a-z0-9.]*$$//'; } > $(LOCK).new
	@mv $(LOCK).new $(LOCK)

format: $(VENV)/.dev ## tidy the code
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

clean: ## remove the environments and caches (never your data in var/)
	rm -rf $(VENV) $(LOWEST) .venv-lock .pytest_cache .mypy_cache .ruff_cache build src/*.egg-info
