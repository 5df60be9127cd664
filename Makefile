# Every target sets up what it needs: python3 (3.11 or newer) and make are enough.
#
#   make test                       lint, the tests that are not slow, notebooks
#   make figures ARGS="--quick"     words for the command go into ARGS
#   make PYTHON=python3.12 test     another Python; the environment is made anew for it

PYTHON ?= python3
ARGS   ?=

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
# What the locks list, and no file that has another checksum.
INSTALL := $(PIP) install --require-hashes --requirement
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(ARGS)
LOWEST := .venv-lowest
LOCK := requirements/main.lock
BENCH_LOCK := requirements/bench.lock
MUTATION_LOCK := requirements/mutation.lock
DOCS_LOCK := requirements/docs.lock
RACE_LOCK := requirements/race.lock

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
.PHONY: help setup figures picture tables docs numbers pages golden bench race mutation test test-all test-lowest test-wheel notebooks lessons marimo teacher lint format lock clean house

help: ## this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

setup: $(READY) ## the environment in .venv (every other target does this first)
	@echo "$(VENV) is ready."

figures: $(READY) ## compute and draw the figures in about four minutes (ARGS="--quick": one; "--full": all points and tasks)
	@$(BIN)/python -m reproduction figures $(ARGS)

picture: $(READY) ## the pictures of README and guide, drawn anew
	@PYTHONPATH=. $(BIN)/python docs/_extensions/pictures.py

tables: $(READY) ## compute the tables, beside the published numbers (ARGS as above)
	@$(BIN)/python -m reproduction tables $(ARGS)

# Notebooks run when their text has changed; figures are those that `make figures` has left in figures/output.
docs: $(READY) $(VENV)/.ready-docs ## the documentation site in docs/_build/html, claims and recorded tables among it: warnings and broken links are errors
	@$(THREADS) $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build/html $(ARGS)
	@$(BIN)/python docs/_extensions/built_pages.py docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser; it needs no network."

$(VENV)/.ready-docs: $(DOCS_LOCK) $(READY)
	@echo "Installing what $(DOCS_LOCK) lists ..."
	@$(INSTALL) $(DOCS_LOCK)
	@touch $@

numbers: $(READY) ## the tables of README.md and docs anew from results/recorded; numbers without a source (ARGS="--list")
	@$(BIN)/python tests/page_numbers.py $(ARGS)

# Every page of docs that a test holds against the code.
pages: $(READY) ## pages of docs that are written from the code: programs, parameters, failure contract, tables of the papers, surprises of tools
	@$(BIN)/python tests/test_programs.py
	@PYTHONPATH=.:tests:tests/contract $(BIN)/python tests/estimators/test_signatures.py
	@PYTHONPATH=.:tests $(BIN)/python tests/contract/test_failure_contract.py
	@PYTHONPATH=. $(BIN)/python tests/test_paper_pages.py
	@PYTHONPATH=. $(BIN)/python tests/test_real_tools.py

house: $(READY) ## code lines per room, what a fit enters, classes and parameters of estimators, words of README.md
	@$(BIN)/python tests/house_counts.py $(ARGS)

golden: $(READY) ## all quick tables and figures against tests/golden, before and after a change of shape
	@$(BIN)/python tests/golden/golden.py check $(ARGS)
	@[ -z "$$SPECMARGIN_DATA" ] || $(BIN)/python tests/golden/golden.py check --data "$$SPECMARGIN_DATA" $(ARGS)

# One thread, so that ratios mean work and not cores. A rival that cannot be built here is left out, and the scripts say so.
bench: $(READY) $(VENV)/.ready-bench ## run the scripts in benchmarks: ratios of one run, on one thread (ARGS="--quick" for a look)
	@set -e; for script in $(BENCHMARKS); do \
	  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python $$script $(ARGS); done

$(VENV)/.ready-bench: $(BENCH_LOCK) $(READY)
	@echo "Installing what $(BENCH_LOCK) lists ..."
	@$(INSTALL) $(BENCH_LOCK) || echo "Not all rivals could be installed; their columns will be missing."
	@touch $@

race: $(READY) $(VENV)/.ready-race ## benchmarks/benchopt, a race that others can join (ARGS="-d two_moons -s CVXPY")
	@$(THREADS) $(BIN)/benchopt run benchmarks/benchopt --no-display $(ARGS)

$(VENV)/.ready-race: $(RACE_LOCK) $(READY)
	@echo "Installing what $(RACE_LOCK) lists ..."
	@$(INSTALL) $(RACE_LOCK)
	@touch $@

# One process, resumed where it ended; results lie in .mutation.
mutation: $(READY) $(VENV)/.ready-mutation ## how many mutants the tests notice, of a sample (ARGS="--sample 400"; "--report"; "--all": hours)
	@$(BIN)/python tests/mutation/mutation.py $(ARGS)

$(VENV)/.ready-mutation: $(MUTATION_LOCK) $(READY)
	@echo "Installing what $(MUTATION_LOCK) lists ..."
	@$(INSTALL) $(MUTATION_LOCK)
	@touch $@

test: lint ## lint, tests, notebooks: eight minutes of two cores
	@echo "== tests"
	@$(PYTEST) -m "not slow" $(ARGS)
	@$(if $(NOTEBOOKS),echo "== notebooks" && $(PYTEST) --nbmake $(NOTEBOOKS))

test-all: test ## the slow tests as well, as continuous integration and releases do
	@echo "== slow tests"
	@SCIPY_ARRAY_API=1 $(PYTEST) -m slow $(ARGS) || test $$? -eq 5 # one of scikit-learn's checks asks for it; 5: none ran

# Wheels alone: a version that has none for this Python, and would have to be compiled, is not one that it admits.
test-lowest: $(READY) ## the fast tests on the lowest versions that pyproject.toml admits, in an environment of its own
	@$(PIP) install uv
	@$(BIN)/python -m venv --clear $(LOWEST)
	@$(BIN)/uv pip compile pyproject.toml --quiet --resolution lowest-direct --only-binary :all: --no-header --no-annotate \
	    --python $(LOWEST)/bin/python --extra cli --extra verify --group dev \
	    --output-file $(LOWEST)/requirements.txt
	@$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --requirement $(LOWEST)/requirements.txt
	@$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --no-deps --no-build-isolation --editable .
	@echo "== fast tests on $$(grep -E '^(cvxpy|matplotlib|numpy|pandas|scikit-learn|scipy|typer)==' $(LOWEST)/requirements.txt | xargs)"
	@$(THREADS) $(LOWEST)/bin/python -m pytest -n auto -m "not slow" $(ARGS)

# Everything happens in a folder of its own, and the current folder is not imported from: what is tested is the wheel.
test-wheel: $(READY) ## build sdist and wheel, install the wheel in a bare environment, run the sdist's fast tests on it
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; python=$(CURDIR)/$(BIN)/python; \
	export PYTHONSAFEPATH=1; unset PYTHONPATH; \
	$$python -m hatchling build --target sdist --directory "$$folder/dist"; \
	tar -xzf "$$folder"/dist/*.tar.gz -C "$$folder"; cd "$$folder"/specmargin-*; \
	$$python -m hatchling build --target wheel --directory "$$folder/dist"; \
	$$python -m venv "$$folder/venv"; bare="$$folder/venv/bin/python"; \
	pip="$$bare -m pip --quiet --quiet --disable-pip-version-check install"; \
	grep -oE '^[a-z0-9][^ ;]*==[^ ;]+( ; [^\\]*)?' $(LOCK) > "$$folder/versions"; \
	$$pip --constraint "$$folder/versions" "$$folder"/dist/*.whl; \
	$$bare -c "import specmargin as sm; X, y = sm.datasets.make_two_moons(n_samples=60, random_state=0); \
	print('bare wheel:', sm.LapSVM().fit(X, sm.hide_labels(y, per_class=3, random_state=0)).result_)"; \
	$$pip --require-hashes --requirement $(LOCK); \
	$$bare -c "import os, specmargin, sysconfig; place = os.path.realpath(specmargin.__file__); \
	assert place.startswith(os.path.realpath(sysconfig.get_path('purelib'))), place; print('testing', place)"; \
	$(THREADS) $$bare -m pytest -n auto -m "not slow" $(ARGS)

notebooks: $(READY) ## run every notebook from top to bottom
	@$(if $(NOTEBOOKS),$(PYTEST) --nbmake $(NOTEBOOKS) $(ARGS),echo "There are no notebooks.")

# With ARGS=--marks the sources run, and the marks of their answers are written, too: minutes.
lessons: $(READY) ## notebooks, slides and quizzes of notebooks/lessons from their sources (ARGS="--marks": what checks know)
	@$(THREADS) $(BIN)/python notebooks/lessons/lesson_files.py $(ARGS)

# uv runs marimo in an environment of its own, which it makes when it is asked for the first time.
marimo: $(READY) ## marimo files of lessons 02, 05, 07 and 09 from their sources
	@$(PIP) install uv
	@$(BIN)/python notebooks/lessons/lesson_files.py --marimo $(BIN)/uv tool run marimo@0.25.2

teacher: $(READY) ## one archive for teachers, build/teacher.zip: solutions, slides, quizzes with answers, answers with hints
	@$(BIN)/python notebooks/lessons/lesson_files.py --teacher

lint: $(READY) ## style, types, layers, notebooks without outputs
	@echo "== lint"
	@$(BIN)/ruff check --quiet --output-format concise
	@$(BIN)/ruff format --check --quiet || { echo "Files above are not formatted; run: make format"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(if $(NOTEBOOKS),$(BIN)/nbstripout --verify $(NOTEBOOKS) || { echo "Notebooks hold outputs; run: make format"; exit 1; })

format: $(READY) ## mend the style, strip the notebooks
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format --quiet
	@$(if $(NOTEBOOKS),$(BIN)/nbstripout $(NOTEBOOKS))

# The extra `ecos` is left out on purpose: it drops the marker that keeps Pythons without a wheel from compiling it.
# ARGS= keeps the versions that are locked and adds what is missing.
lock: ARGS := --upgrade
lock: $(READY) ## resolve the five locks again from pyproject.toml (ARGS= upgrades nothing; "--upgrade-package NAME")
	@$(PIP) install uv
	@$(COMPILE) pyproject.toml --extra cli --extra verify --group dev --output-file $(LOCK)
	@set -e; for group in bench mutation docs race; do \
	  $(COMPILE) --group $$group --constraint $(LOCK) --output-file requirements/$$group.lock; done
	@echo "$(LOCK), $(BENCH_LOCK), $(MUTATION_LOCK), $(DOCS_LOCK) and $(RACE_LOCK) are up to date; run make test, then commit them."

clean: ## remove the environment, caches and builds; results and figures stay
	@rm -rf $(VENV) $(LOWEST) .mutation build dist docs/_build docs/api docs/gallery docs/notebooks docs/recorded .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

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
