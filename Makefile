# One command each. What a target needs it sets up itself; what is set up is not done again.
PYTHON ?= python3
BIN := .venv/bin
# ipykernel's first release of the 7 series, which the kernel tests run beside the newest, and the
# one before that design, which they lay over the newest.
OLDEST := ipykernel==7.0.0
SIX := ipykernel==6.30.1
OVERLAY := .cache/ipykernel-6.30.1
# The small local model is worth 0.5 GB of download to the tests; FETCH=no goes without.
FETCH ?= yes
WORKERS ?= 2
INSTALL := -m pip install --quiet --disable-pip-version-check
PAGE := shiro_jupyter/labextension/package.json
LINK := .venv/share/jupyter/labextensions/shiro_jupyter
PAGE_SOURCES := $(shell find labextension -type f \
  -not -path '*/node_modules/*' -not -path '*/lib/*' -not -path '*/.yarn/*' -not -name '*.tsbuildinfo')
# Environments, page and browser are set up beside one another.
MAKEFLAGS += --jobs=4

.PHONY: help demo test check docs bench bench-recall snapshots pictures model browser kernels labextension clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo       open JupyterLab on the example project (ONCE=1: run it through, print it)'
	@echo 'make test       set up all that is needed and run every test'
	@echo 'make check      format, lint, types and the fast tests'
	@echo 'make docs       regenerate the tables in the documentation'
	@echo 'make bench      measure, and print what was measured'
	@echo 'make bench-recall DATA=path  measure how well memories are found, on histories in path'
	@echo 'make pictures   take the pictures of the documentation anew'
	@echo 'make snapshots  rewrite the snapshots of the tests'

# `labextension` builds the page, not each installation.
.venv/ready .venv-oldest/ready: export SKIP_JUPYTER_BUILDER = 1

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.12'; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { echo 'python3-venv is missing: apt-get install python3-venv, then again'; exit 1; }
	@echo 'setting up .venv (a minute) …'
	@rm -rf $(LINK) # or pip would follow it
	@$(BIN)/python $(INSTALL) --upgrade 'pip>=25.1'
	@$(BIN)/python $(INSTALL) --editable . --group test --group lint --group lab
	@touch $@

.venv-oldest/ready: pyproject.toml
	@$(PYTHON) -m venv .venv-oldest
	@echo 'setting up .venv-oldest ($(OLDEST)) …'
	@.venv-oldest/bin/python $(INSTALL) --upgrade 'pip>=25.1'
	@.venv-oldest/bin/python $(INSTALL) --editable . '$(OLDEST)' --group kernel
	@touch $@

$(OVERLAY)/ready: | .venv/ready
	@$(BIN)/python $(INSTALL) --upgrade --target $(OVERLAY) --no-deps '$(SIX)' nest_asyncio
	@touch $@

kernels: .venv/ready .venv-oldest/ready $(OVERLAY)/ready

$(PAGE): $(PAGE_SOURCES) | .venv/ready
	@command -v node >/dev/null || \
	  { echo 'node is missing: apt-get install nodejs, then again'; exit 1; }
	@echo 'building the page (two minutes at first) …'
	@mkdir -p .cache
	@. $(BIN)/activate && cd labextension && { jlpm install --immutable && jlpm build:prod; } \
	  >../.cache/page.log 2>&1 || { cat ../.cache/page.log; exit 1; }
	@touch $@

# Linked, so that Lab serves what was built last.
labextension: $(PAGE)
	@mkdir -p $(dir $(LINK)) && rm -rf $(LINK) && ln -s $(CURDIR)/shiro_jupyter/labextension $(LINK)

# Where no Chromium can be had, the browser tests fail, and say how to get one.
browser:
	@for name in chromium chromium-browser google-chrome; do \
	  command -v $$name >/dev/null && exit 0; done; \
	echo 'installing chromium …'; mkdir -p .cache; \
	[ "$$(id -u)" = 0 ] && root= || root=sudo; export DEBIAN_FRONTEND=noninteractive; \
	{ $$root apt-get -qq update && $$root apt-get -qq install -y --no-install-recommends chromium; } \
	  >.cache/apt.log 2>&1 \
	  || echo 'no Chromium (.cache/apt.log says why): as root, apt-get install chromium, then again'

# The tests that need the model are skipped by name where it cannot be had.
model: .venv/ready
	@if [ "$(FETCH)" = yes ]; then \
	  $(BIN)/python scripts/fetch_model.py || echo 'no local model: the tests that need it are skipped'; fi

demo: .venv/ready labextension
	@$(BIN)/python scripts/demo.py

test: kernels labextension browser model
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile

check: .venv/ready
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . || \
	  { echo 'repair with: .venv/bin/ruff format . && .venv/bin/ruff check --fix .'; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/python scripts/docs.py --check
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile \
	  -m 'not kernel and not model and not slow and not browser and not node'

docs: .venv/ready
	@$(BIN)/python scripts/docs.py

bench: kernels labextension browser model
	@$(BIN)/python -m tests.bench

bench-recall: .venv/ready
	@$(BIN)/python -m tests.bench.recall $(DATA)

pictures: kernels labextension browser
	@$(BIN)/python scripts/pictures.py

snapshots: .venv/ready
	@SHIRO_SNAPSHOTS=write $(BIN)/pytest -q -m 'not kernel and not model and not browser and not node'
	@git status --short tests

clean:
	rm -rf .venv .venv-oldest .cache build dist shiro_jupyter/labextension shiro_jupyter/static
