# Everything a newcomer needs: `make demo`, `make test` and `make docs`. All set up .venv on their own, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Bytecode is kept, whatever the shell says: else every process that the tests start compiles all of it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-gpu test-lab docs lint types wheel peers bench clean

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/mercer demo --folder demo

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal -q tests --ignore tests/lab/browser
	$(BIN)/python -m pytest -q --doctest-modules --doctest-glob="*.md" -n auto --dist worksteal src docs ship README.md CONTRIBUTING.md SECURITY.md

# The GPU engine without a GPU: Triton's interpreter on a CPU build of torch.
$(VENV)/.torch: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 "triton>=3.2"
	touch $@

test-gpu: $(VENV)/.torch
	TRITON_INTERPRET=1 $(BIN)/python -m pytest -n auto --dist worksteal -q tests/engines/test_cuda.py tests/engines/test_cuda_dense.py tests/estimators/test_tensors.py tests/estimators/test_array_api.py \
		tests/estimators/test_perceptron.py tests/losses/test_function.py tests/engines/test_trees.py tests/tables/model/test_device.py \
		tests/tables/model/test_on_device.py

# The site, in docs/_build/html; a warning, a dead link, or anything loaded from the network is an error.
docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

# The lab's page in a real browser. Chromium is installed where there is none and we may.
test-lab: $(STAMP)
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then apt-get update -qq && apt-get install -y -qq chromium; \
		else echo "No Chromium here: install it (on Debian: sudo apt-get install chromium), then run make test-lab again."; exit 1; fi; }
	MERCER_BROWSER_TESTS=required $(BIN)/python -m pytest -n 2 -q tests/lab/browser

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

# The wheel, in dist/, and what people do with it in their first hour, in an environment where nothing else is.
# WHEEL="--python python3.13" is another interpreter; WHEEL=--thorough takes README with each extra alone.
wheel: $(STAMP)
	$(BIN)/python ship/try_wheel.py $(WHEEL)

# scikit-learn's own tests with our machines in place of theirs; PEERS="svm ridge" are some of its files.
peers: $(STAMP)
	$(BIN)/python -m peers $(PEERS)

# BENCH="products --quick" passes names and options on; docs/performance.md says what they are.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(BIN)/python -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo docs/_build docs/gallery docs/api/names
