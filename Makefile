# Everything a newcomer needs: `make demo` and `make test`. Each makes what it needs, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := src tests benchmarks tools
SCALA := $(shell find src -name '*.scala')
# What needs no JVM.
QUICK := not spark and not kafka and not crash
PARALLEL := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test quick install check fmt reference bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1|/' | awk -F'|' '{printf "  make %-9s %s\n", $$1, $$2}'

demo: $(VENV)/ready ## see it work: broker, visits, a stream, a restart, a correction, a rewind
	@$(BIN)/anabranch demo

test: check ## pass all the tests
	@$(BIN)/python -m pytest -m "$(QUICK)" $(PARALLEL) --quiet --cov --cov-report=term
	@$(BIN)/python -m pytest -m "spark or kafka or crash" $(PARALLEL)

quick: $(VENV)/ready ## pass the tests that need no JVM, in under a minute
	@$(BIN)/python -m pytest -m "$(QUICK)" $(PARALLEL) --quiet

check: $(VENV)/ready ## lint and types alone
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy

fmt: $(VENV)/ready ## format the code and sort its imports
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

reference: $(VENV)/ready ## write docs/reference again
	@$(BIN)/python -m tools.reference

bench: $(VENV)/ready ## measure beside plain Spark, half an hour; CASES="throughput sessions" for some
	@$(BIN)/python -m benchmarks $(CASES)

install: $(VENV)/ready ## set up .venv and the jars, nothing else

# Made again only when what is to be installed changes; the jars are in the user's cache, for all clones.
$(VENV)/ready: pyproject.toml constraints.txt src/anabranch/spark/jars.lock $(SCALA)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || { echo "Creating $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing what constraints.txt pins (about 500 MB and some minutes the first time) ..."
	@$(BIN)/python tools/install.py $(VENV)/install.log --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/anabranch setup
	@touch $@

clean: ## remove .venv (the jars stay in the user's cache)
	rm -rf $(VENV)
