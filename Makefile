# ClevrSkills: set-up, demo and checks. `make` lists the targets.
#
# PYTHON=/path/to/python3.12 selects the Python of .venv (3.11 or 3.12); default: the first found.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
CAN_RENDER := $(BIN)/python -c "from clevrskills.doctor.checks import check_renderer; exit(not check_renderer().ok)"
INSTALLED := $(VENV)/.installed
READERS := $(foreach name,readers rlds clients agents lerobot,.venv-$(name)/.installed)
# All extras except mplib, which pins numpy below 2.
NEWEST := oracle,dev,ray,serve,rl,rl-adapters,vla,docs
DEMO := demo
# Keep compiled files, or every test process compiles everything again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup vulkan demo test test-slow test-all readers test-readers lint docs bench wheel release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## virtual environment in .venv with the package, the oracle and the tools
	@:

$(INSTALLED): pyproject.toml constraints.txt clevrskills/__init__.py
	@scripts/setup_venv.sh $(PYTHON)
	@touch $@

vulkan: ## install a software Vulkan driver if there is no GPU driver
	@scripts/install_vulkan.sh

demo: setup vulkan ## check the machine, generate demonstrations in demo/, write demo/index.html
	@$(BIN)/clevrskills doctor || echo "clevrskills: continuing; see above for what is missing and how to fix it"
	@cameras=; $(CAN_RENDER) || cameras=--no-cameras; \
	$(BIN)/clevrskills generate simple_manipulation sort --episodes 3 --seed 0 --split train \
	    --out $(DEMO) --workers 2 $$cameras
	@$(BIN)/clevrskills view $(DEMO) --out $(DEMO)/index.html
	@echo "clevrskills: open $(DEMO)/index.html"

test: setup vulkan ## the fast tests
	@$(BIN)/python -m pytest -n auto --dist loadfile

test-slow: setup vulkan ## the slow tests; TESTS=@tests/slow_in_ci.txt: those of .ci/run
	@$(BIN)/python -m pytest -n auto --dist worksteal -m slow $(TESTS)

test-all: ## release gate: all tests, third-party software, the site; Python 3.12, newest versions
	@VENV=.venv-newest EXTRAS=$(NEWEST) CONSTRAINTS= scripts/setup_venv.sh python3.12
	@$(MAKE) lint docs test test-slow test-readers
	@.venv-newest/bin/python -m pytest -n auto --dist loadfile -m "slow or not slow"

readers: $(READERS) ## virtual environments with third-party software for test-readers
	@:

$(READERS): .venv-%/.installed: scripts/setup_%.sh
	@EXTRAS=smolvla scripts/setup_$*.sh $(PYTHON)
	@if [ -d $(@D) ]; then touch $@; fi

test-readers: setup vulkan ## tests with third-party software, in separate environments
	@$(MAKE) -j 2 -O readers
	@$(BIN)/python -m pytest -n auto --dist worksteal -m readers $$(grep -rl --include='test_*.py' mark.readers tests)

lint: setup ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: setup ## the documentation site in site/, without a network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "clevrskills: open site/index.html"

bench: setup vulkan ## benchmarks of success, cost and determinism (an hour)
	@for name in oracle pictures determinism; do $(BIN)/python benchmarks/$$name.py; done

wheel: setup ## the package, the zoo and further policies as wheels, in dist/
	@$(BIN)/python -m pip wheel --disable-pip-version-check --progress-bar off --no-deps \
	    --wheel-dir dist . ./zoo ./policies

release: setup ## the wheels and checksums in dist/, and the commands that upload them
	@scripts/release.sh

clean: ## remove .venv, the demo and caches
	@rm -rf $(VENV) $(DEMO) build dist site .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
