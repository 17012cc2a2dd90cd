# Every target works in a fresh clone: what it needs is installed first.
BIN ?= .venv/bin

.PHONY: help demo test newer slow lint types arch notebooks reports bench ci
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/' | expand -t 12

demo: ## the first command of README: install, then the main job on embedded real data
	python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/corners demo

test: ## the second command of README: install, then the tests
	python3 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/pip install --no-deps laplace-torch==0.3 curvlinops-for-pytorch==3.0.1 backpack-for-pytorch==1.7.1 && .venv/bin/python -m pytest

newer: ## the tests of inference on Python 3.12 without torch, where there is one
	.ci/python312

slow: $(BIN)/ruff ## the long statistical checks, which `make test` leaves out
	$(BIN)/python -m pytest -m slow

lint: $(BIN)/ruff ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/ruff ## pyright
	$(BIN)/pyright --pythonpath $(BIN)/python

arch: $(BIN)/ruff ## the import contracts of pyproject.toml
	$(BIN)/lint-imports

notebooks: $(BIN)/ruff ## run every notebooks/NN_name.py anew and keep its outputs in NN_name.ipynb
	$(BIN)/python notebooks/build.py

reports: $(BIN)/ruff ## render the committed reports again from their results; a difference fails
	@for study in reports/*/scores.csv.gz; do $(BIN)/corners report $$(dirname $$study) --check || exit 1; done

# A file of tests/benchmarks is a script with a main part, or holds tests with the fixture of pytest-benchmark.
bench: $(BIN)/ruff ## times and ratios on one core; compare numbers of one run only
	@export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1; for file in tests/benchmarks/bench_*.py; do \
		echo "== $$file"; \
		if grep -q '^if __name__ == "__main__":' $$file; then \
			$(BIN)/python -m tests.benchmarks.$$(basename $$file .py) || exit 1; \
		else \
			$(BIN)/python -m pytest $$file -n0 -s --benchmark-enable --jaxtyping-packages= || exit 1; \
		fi; \
	done

ci: ## everything, in an environment made anew
	.ci/run

$(BIN)/ruff:
	python3 -m venv .venv && .venv/bin/pip install -e ".[dev]"
