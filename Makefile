# Everything a newcomer needs: `make demo` and `make test`. Each makes what it needs, once.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := src tests benchmarks

.DEFAULT_GOAL := help
.PHONY: help demo test install check bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1|/' | awk -F'|' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: .venv/ready ## see it work: broker, visits, a stream, a stop, a restart
	@$(BIN)/anabranch demo

test: check ## pass all the tests
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: .venv/ready ## lint and types alone
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy

bench: .venv/ready ## measure beside the plain way, 40 minutes; CASES="throughput sessions" for some
	@$(BIN)/python -m benchmarks $(CASES)

install: .venv/ready ## set up .venv and the jars, nothing else

# Made anew only when what is to be installed changes; the jars are in the user's cache, for all clones.
.venv/ready: pyproject.toml constraints.txt src/anabranch/spark/jars.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || { echo "Making .venv ..."; $(PYTHON) -m venv .venv; }
	@echo "Installing what constraints.txt pins (about 500 MB the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m anabranch.cli.setup
	@touch $@

clean: ## remove .venv (the jars stay in the user's cache)
	rm -rf .venv
