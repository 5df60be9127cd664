# Every target sets up what it needs: python3 (3.11 or newer) and make are enough.
#
#   make test                       lint, the tests that are not slow, notebooks
#   make figures ARGS="--quick"     words for the command go into ARGS
#   make setup ARGS="mutation race" what further commands need (CONTRIBUTING.md lists them)
#   make PYTHON=python3.12 test     another Python; the environment is made anew for it

PYTHON ?= python3
ARGS   ?=

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
# What the locks list, and no file that has another checksum.
INSTALL := $(PIP) install --require-hashes --requirement
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(ARGS)
LOCK := requirements/main.lock
GROUPS := bench docs mutation race

# The stamp is the last thing that a set-up writes, so an interrupted one is taken up again. An environment that
# works is kept whichever Python made it; a PYTHON that is named has a stamp of its own and is compared.
NAMED := $(if $(filter-out file default undefined,$(origin PYTHON)),$(PYTHON))
READY := $(VENV)/.ready$(if $(NAMED),-$(subst /,_,$(NAMED)))

NOTEBOOKS  := $(wildcard notebooks/*.ipynb)
BENCHMARKS := $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))

# A worker per core, and one thread of linear algebra each. ARGS="-n 0" runs all in one process, for a debugger.
THREADS := OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS:-1} \
           MKL_NUM_THREADS=$${MKL_NUM_THREADS:-1}
PYTEST  := $(THREADS) $(BIN)/python -m pytest -n auto

.DEFAULT_GOAL := help
.PHONY: help setup test test-all figures tables docs bench lock format clean

help: # this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

setup: $(READY) $(patsubst %,$(VENV)/.ready-%,$(filter $(GROUPS),$(ARGS))) ## the environment in .venv (every other target does this first); ARGS="bench docs mutation race" for more
	@echo "$(VENV) is ready."

test: $(READY) ## lint, tests, notebooks: eight minutes of two cores
	@echo "== lint"
	@$(BIN)/ruff check --quiet --output-format concise
	@$(BIN)/ruff format --check --quiet || { echo "Files above are not formatted; run: make format"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/nbstripout --verify $(NOTEBOOKS) || { echo "Notebooks hold outputs; run: make format"; exit 1; }
	@echo "== tests"
	@$(PYTEST) -m "not slow" $(ARGS)
	@echo "== notebooks"
	@$(PYTEST) --nbmake $(NOTEBOOKS)

test-all: test ## the slow tests as well, as continuous integration and releases do
	@echo "== slow tests"
	@SCIPY_ARRAY_API=1 $(PYTEST) -m slow $(ARGS) || test $$? -eq 5 # one of scikit-learn's checks asks for it; 5: none ran

figures: $(READY) ## compute and draw the figures in about four minutes (ARGS="--quick": one; "--full": all points and tasks)
	@$(BIN)/python -m reproduction figures $(ARGS)

tables: $(READY) ## compute the tables, beside the published numbers (ARGS as above)
	@$(BIN)/python -m reproduction tables $(ARGS)

# Notebooks run when their text has changed; figures are those that `make figures` has left in figures/output.
docs: $(VENV)/.ready-docs ## the documentation site in docs/_build/html, claims and recorded tables among it: warnings and broken links are errors
	@$(THREADS) $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build/html $(ARGS)
	@$(BIN)/python docs/_extensions/built_pages.py docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser; it needs no network."

# One thread, so that ratios mean work and not cores. A rival that cannot be built here is left out, and the scripts say so.
bench: $(VENV)/.ready-bench ## run the scripts in benchmarks: ratios of one run, on one thread (ARGS="--quick" for a look)
	@set -e; for script in $(BENCHMARKS); do \
	  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python $$script $(ARGS); done

# The extra `ecos` is left out on purpose: it drops the marker that keeps Pythons without a wheel from compiling it.
# ARGS= keeps the versions that are locked and adds what is missing.
lock: ARGS := --upgrade
lock: $(READY) ## resolve the five locks again from pyproject.toml (ARGS= upgrades nothing; "--upgrade-package NAME")
	@$(PIP) install uv
	@$(COMPILE) pyproject.toml --extra cli --extra verify --group dev --output-file $(LOCK)
	@set -e; for group in $(GROUPS); do \
	  $(COMPILE) --group $$group --constraint $(LOCK) --output-file requirements/$$group.lock; done
	@echo "The files in requirements are up to date; run make test, then commit them."

format: $(READY) ## mend the style, strip the notebooks
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format --quiet
	@$(BIN)/nbstripout $(NOTEBOOKS)

clean: ## remove the environment, caches and builds; results and figures stay
	@rm -rf $(VENV) .venv-lowest .mutation build dist docs/_build docs/api docs/gallery docs/notebooks docs/recorded .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Rivals of the benchmarks may be missing, where they cannot be built: their columns are then left out.
$(VENV)/.ready-%: requirements/%.lock $(READY)
	@echo "Installing what $< lists ..."
	@$(INSTALL) $< || { [ $* = bench ] && echo "Not all rivals could be installed; their columns will be missing."; }
	@touch $@

VERSION_OF = -c 'import sys; print(sys.version_info[:2])'

$(READY): $(LOCK) pyproject.toml
	@rm -f $(VENV)/.ready*
	@if ! $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	    || { [ -n "$(NAMED)" ] && [ "$$($(PYTHON) $(VERSION_OF))" != "$$($(BIN)/python $(VERSION_OF))" ]; }; then \
	  if ! command -v $(PYTHON) >/dev/null; then \
	    echo "There is no '$(PYTHON)' here. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"; exit 1; \
	  fi; \
	  if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	    echo "'$(PYTHON)' is $$($(PYTHON) --version 2>&1), but specmargin needs Python 3.11 or newer."; \
	    echo "Install one and name it: make PYTHON=python3.12"; exit 1; \
	  fi; \
	  if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "'$(PYTHON)' comes without venv or ensurepip, which make the environment."; \
	    echo "Install them (Debian, Ubuntu: apt install python3-venv) and run make again."; exit 1; \
	  fi; \
	  echo "Making $(VENV) with $$($(PYTHON) --version) ..."; \
	  $(PYTHON) -m venv --clear $(VENV); \
	fi
	@echo "Installing what $(LOCK) lists into $(VENV) (a few minutes the first time) ..."
	@$(INSTALL) $(LOCK)
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(VENV)/.ready $@
