# One command each. What a target needs it sets up itself; what is set up is not done again.
PYTHON ?= python3
BIN := .venv/bin
# ipykernel's first release of the 7 series, which the kernel tests run beside the newest.
OLDEST := ipykernel==7.0.0
# The small local model is worth 0.5 GB of download to the tests; FETCH=no goes without.
FETCH ?= yes
WORKERS ?= 2

.PHONY: help demo test check docs bench snapshots model clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo       open JupyterLab on the example project (ONCE=1: run it through, print it)'
	@echo 'make test       set up all that is needed and run every test'
	@echo 'make check      format, lint, types and the fast tests'
	@echo 'make docs       regenerate the tables in the documentation'
	@echo 'make bench      measure, and print what was measured'
	@echo 'make snapshots  rewrite the snapshots of the tests'

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.12'; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { echo 'python3-venv is missing: apt-get install python3-venv, then again'; exit 1; }
	@echo 'setting up .venv (a minute) …'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . \
	  --group test --group lint --group lab
	@touch $@

.venv-oldest/ready: pyproject.toml
	@$(PYTHON) -m venv .venv-oldest
	@echo 'setting up .venv-oldest ($(OLDEST)) …'
	@.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable . \
	  '$(OLDEST)' --group kernel
	@touch $@

# The tests that need the model are skipped by name where it cannot be had.
model: .venv/ready
	@if [ "$(FETCH)" = yes ]; then \
	  $(BIN)/python scripts/fetch_model.py || echo 'no local model: the tests that need it are skipped'; fi

demo: .venv/ready
	@$(BIN)/python scripts/demo.py

test: .venv/ready .venv-oldest/ready model
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile

check: .venv/ready
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . || \
	  { echo 'repair with: .venv/bin/ruff format . && .venv/bin/ruff check --fix .'; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/python scripts/docs.py --check
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile -m 'not kernel and not model and not slow'

docs: .venv/ready
	@$(BIN)/python scripts/docs.py

bench: .venv/ready .venv-oldest/ready model
	@$(BIN)/python -m tests.bench

snapshots: .venv/ready
	@SHIRO_SNAPSHOTS=write $(BIN)/pytest -q -m 'not kernel and not model'
	@git status --short tests

clean:
	rm -rf .venv .venv-oldest .cache build dist
