# One virtual environment; each stamp remembers which set of extras is installed in it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt
REPORT := build/report.html
SOURCES := src tests docs $(wildcard benchmarks examples)

.DEFAULT_GOAL := help
.PHONY: help run test coverage lint format soundness benchmark figures docs clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/run.stamp: $(INPUTS) | $(BIN)/python
	$(PIP) --editable '.[cli,report,design,ledger]'
	@touch $@

.venv/dev.stamp: $(INPUTS) | $(BIN)/python
	$(PIP) --editable '.[cli,report,design,ledger,web,docs,dev,noise,data,spark,game]' torch
	@touch $@

.venv/benchmark.stamp: .venv/dev.stamp
	$(PIP) --editable '.[benchmark]'
	@touch $@

run: .venv/run.stamp  ## a tour over everything: prints the answers and writes an HTML report
	@mkdir -p $(dir $(REPORT))
	$(BIN)/quiltwork demo --out $(REPORT)

test: .venv/dev.stamp  ## run every test
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile

coverage: .venv/dev.stamp  ## run every test and say which lines none of them reached (half as long again)
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile --cov --cov-report=term:skip-covered

lint: .venv/dev.stamp  ## check style, types and the doors between rooms
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev.stamp  ## rewrite the code in the house style
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

soundness: .venv/dev.stamp  ## check random brackets against high-precision truth (long)
	$(BIN)/python benchmarks/soundness.py
	$(BIN)/python benchmarks/soundness_pufferfish.py
	$(BIN)/python benchmarks/soundness_confounding.py
	$(BIN)/python benchmarks/soundness_game.py

benchmark: .venv/benchmark.stamp  ## time the engine beside its peers
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/regions.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/tables_peers.py
	$(BIN)/python benchmarks/pufferfish.py
	$(BIN)/python benchmarks/confounding.py
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/game.py --check
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/web.py

figures: .venv/dev.stamp  ## redraw the figures of the papers, and tour the tables, into build/figures
	$(BIN)/python examples/regions.py build/figures
	$(BIN)/python examples/tables.py build/figures
	$(BIN)/python examples/pufferfish_figures.py build/figures
	$(BIN)/python examples/confounding_medical.py --figure build/figures/confounding_medical.svg
	$(BIN)/python examples/confounding_telematics.py --figure build/figures/confounding_telematics.svg
	$(BIN)/python examples/confounding_xor_pad.py --figure build/figures/confounding_xor_pad.svg
	$(BIN)/python examples/game_composition.py --figure build/figures/game_composition.svg
	$(BIN)/python examples/game_audit.py --figure build/figures/game_audit.svg

docs: .venv/dev.stamp  ## build the documentation into build/docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "The documentation is in build/docs/index.html"

clean:  ## remove everything that make created
	rm -rf .venv build dist .coverage htmlcov .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
