# mjrig: `make run` and `make test` do all of the set-up themselves.
# PYTHON=python3.12 chooses the interpreter, ARGS="check scene.yaml" what `make run` runs instead.

BIN := .venv/bin
SCENE := config/scenes/quadruped_trot.yaml
HEADLESS := run $(SCENE) --duration 5 --picture out/quadruped.png --plot out/quadruped_plot.png
CHECKS := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyrefly check
# One more than there are cores: tests also wait for windows and other processes.
WORKERS ?= $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))
SEED ?= 0
LIMIT ?= 4h
ARGS ?= $(if $(DISPLAY),edit $(SCENE),$(HEADLESS))

export PYTHON
# ROS and others put their own numpy and pytest plugins here, ahead of .venv.
unexport PYTHONPATH PYTHONHOME
# Tests start many processes; each would compile all of mjrig again, and pytest every test.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test test-fast campaign lint format mutants bench docs newton dist clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1	\2/p' Makefile | expand -t 18

setup:  ## make .venv, install packages and missing system libraries (run and test do it too)
	@sh tools/setup.sh

run: setup  ## open the example scene in the editor; without a display run it, pictures go to out/
	@mkdir -p out
	@if [ -z "$(DISPLAY)" ]; then echo "there is no display; make run ARGS=\"edit $(SCENE) --web\" shows the editor in a browser"; fi
	$(BIN)/mjrig $(ARGS)

# The checks need one core for some minutes, while the tests leave gaps; they are shown after the tests.
test: setup  ## all tests on every core, and all checks beside them
	@checks=$$(mktemp); trap 'kill $$lint 2>/dev/null; rm -f "$$checks"' EXIT; trap 'exit 130' INT TERM; \
	{ $(CHECKS); } >"$$checks" 2>&1 & lint=$$!; status=0; \
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder || status=$$?; \
	wait $$lint || status=$$?; cat "$$checks"; exit $$status

test-fast: setup  ## ruff, and the quick tests of the packages that changed since HEAD (PACKAGES="sim cli": those too)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@tests=$$($(BIN)/python tools/changed_tests.py $(PACKAGES)) || exit; \
	if [ -z "$$tests" ]; then echo "no package has changed since HEAD"; exit; fi; echo $$tests; \
	$(BIN)/pytest --numprocesses auto --dist worksteal -m "not slow and not campaign" $$tests

# The same seed tries the same cases; another one: make campaign SEED=7. Each generator ends after 8 minutes, unless its test says
# another time (sabotage: 50 for each robot), and prints what it tried and found; all together after LIMIT. A short one: make campaign MINUTES=1
# MODELS=folder also loads every model of a folder with MuJoCo and with mjrig, and compares how they move.
campaign: setup  ## the random and the long tests, with many more examples and steps: some minutes each, 4 hours at most
	MJRIG_CAMPAIGN=1 MJRIG_SEED=$(SEED) MJRIG_MINUTES=$(MINUTES) MJRIG_MODELS="$(MODELS)" timeout --foreground --signal=INT --kill-after=60 $(LIMIT) $(BIN)/pytest --numprocesses auto --dist worksteal -m campaign \
		--hypothesis-seed=$(SEED) --hypothesis-show-statistics --verbose --durations=0

lint: setup  ## the checks alone: ruff and pyrefly
	$(CHECKS)

format: setup  ## sort imports, repair what ruff can, format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# TESTS=tests/plugin/lab runs other tests than the package's; LOGIC=1 changes operators, INLINE=1 also numbers inside functions.
mutants: setup  ## change the constants of a package one at a time and run their tests (PACKAGE="lab/rollouts lab/gains")
	@$(BIN)/python tools/mutants.py $(PACKAGE) $(if $(TESTS),--tests $(TESTS)) $(if $(LOGIC),--logic) $(if $(INLINE),--inline)

bench: setup  ## measure the cost of a step, of starting, of recording, of many worlds, of many actors, of a policy, of a sweep, of a fit, of subscribers, the editor's frames, and its page
	$(BIN)/python benchmarks/step_cost.py
	$(BIN)/python benchmarks/startup_cost.py
	$(BIN)/python benchmarks/record_cost.py
	$(BIN)/python benchmarks/batch_cost.py
	$(BIN)/python benchmarks/memory_cost.py
	$(BIN)/python -m benchmarks.crowd_cost
	$(BIN)/python benchmarks/policy_cost.py
	$(BIN)/python benchmarks/scan_cost.py
	$(BIN)/python benchmarks/sweep_cost.py
	$(BIN)/python benchmarks/bench_cost.py
	$(BIN)/python benchmarks/fit_cost.py
	$(BIN)/python benchmarks/subscriber_cost.py
	$(BIN)/python benchmarks/editor_frames.py
	$(BIN)/python -m benchmarks.web_cost

docs: setup  ## build the documentation site into out/site, offline; a dead link or a missing image is an error
	@$(BIN)/python -c "import sphinx, myst_parser, furo" 2>/dev/null || $(BIN)/pip install -qq -e ".[docs]" --no-build-isolation
	$(BIN)/sphinx-build -q -W --keep-going -b html docs out/site
	@echo "out/site/index.html"

newton: setup  ## compare the array pipeline with Newton's (installs Newton into .venv)
	$(BIN)/python benchmarks/newton_cost.py --install

# The wheel must work where there is no checkout: a new environment, an empty folder, bare and with all extras.
dist: setup  ## build sdist and wheel, then try the wheel in an environment of its own
	rm -rf dist
	$(BIN)/python -m build
	@set -eu; top=$$(pwd -P); wheel=$$(echo "$$top"/dist/*.whl); \
	away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; trap 'exit 130' INT TERM; \
	$(BIN)/python -m venv --without-pip "$$away/venv"; \
	mkdir "$$away/empty"; cp -R tests "$$away/empty"; cd "$$away/empty"; \
	for extra in "" "[all]"; do \
		echo "== the wheel, installed as mjrig$$extra"; \
		"$$top/$(BIN)/pip" -qq --python "$$away/venv/bin/python" install "$$wheel$$extra" pytest pytest-xdist hypothesis; \
		"$$away/venv/bin/mjrig" components; \
		MJRIG_WHEEL=1 "$$away/venv/bin/python" -m pytest --import-mode=importlib --numprocesses auto --dist loadfile tests; \
	done

clean:  ## remove what was built or cached, then install again (build/ is the installation)
	rm -rf build dist out *.egg-info .pytest_cache .ruff_cache .hypothesis .venv/set-up
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
	@if [ -d .venv ]; then sh tools/setup.sh; fi
