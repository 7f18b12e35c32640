# Every target first makes .venv: once, and again only when requirements.lock or pyproject.toml change.
# PYTHON=… names the interpreter to build it with; LAB_ARGS=… goes to JupyterLab, e.g. --no-browser.

PY := $(CURDIR)/.venv/bin/python
READY := .venv/.ready
PYTHONS := $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3 python)
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

# nbgrader is for instructors and comes with Jupyter Notebook: neither shows in a learner's JupyterLab, or slows it.
NOT_IN_LAB := @jupyterlab/apputils-extension:announcements @jupyter/nbgrader @jupyter-notebook/lab-extension
NOT_ON_SERVER := $(addprefix nbgrader.server_extensions.,formgrader validate_assignment assignment_list course_list) notebook

.PHONY: help lab test demo compare mine notebooks grade update figures bench lock clean

help:
	@echo "make lab        open the workbook in JupyterLab"
	@echo "make demo       run the finished memory system in the terminal"
	@echo "make mine       gather your own memory system into mine/, and try it; what you edited there stays"
	@echo "make compare    try SQLite, Chroma and mem0 with the acceptance suite"
	@echo "make test       style, types, tests and doctests (needs a browser; fetches one if there is none)"
	@echo "make notebooks  write and run the solved notebooks, and what the README prints"
	@echo "make grade      the state of every exercise in notebooks/, or in WORK=folder; CSV=file.csv writes it down"
	@echo "make update     bring in the newest course, and keep your work; FROM=folder takes it from an older copy"
	@echo "make figures    take the README's pictures of the widgets anew"
	@echo "make bench      measure, and compare with Chroma, mem0 and others: a quarter of an hour; QUICK=1 two minutes; NOTEBOOKS=1 more"
	@echo "make lock       pin the dependencies anew after a change of pyproject.toml"
	@echo "make clean      remove .venv and everything else that was generated"

# The workbook calls nobody: no news, no update check, no catalogue of extensions.
lab: $(READY)
	"$(PY)" -m jupyterlab --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.extension_manager=readonly $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS)

test: $(READY)
	"$(PY)" -m ruff check .
	"$(PY)" -m ruff format --check .
	"$(PY)" -m mypy
	"$(PY)" tests/browser.py
	"$(PY)" -m pytest -n 3 --dist=loadgroup

demo: $(READY)
	@"$(PY)" -m solutions.demo

compare: $(READY)
	@"$(PY)" -m benchmarks.systems

mine: $(READY)
	@"$(PY)" -m course.desk.mine
	@"$(PY)" -m course.acceptance mine

notebooks: $(READY)
	"$(PY)" -m course.desk.build
	"$(PY)" tests/readme.py

grade: $(READY)
	@"$(PY)" -m course.desk.grade "$(or $(WORK),notebooks)" $(if $(CSV),--csv "$(CSV)")

update: $(READY)
	@"$(PY)" -m course.desk.update $(if $(FROM),--from "$(FROM)")

figures: $(READY)
	"$(PY)" tests/browser.py
	"$(PY)" tests/figures.py

bench: $(READY)
	@"$(PY)" -m benchmarks $(if $(QUICK),--quick) $(if $(NOTEBOOKS),--notebooks)

lock: $(READY)
	"$(PY)" -m pip install --quiet uv
	"$(PY)" -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate -o requirements.lock

clean:
	rm -rf .venv build artefacts *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} + -o -name .ipynb_checkpoints -prune -exec rm -rf {} +

# .ready holds the folder it was made in: an installation that was moved or copied is made again.
ifneq ($(CURDIR),$(shell cat $(READY) 2>/dev/null))
.PHONY: $(READY)
endif

# A Python is tried by running it, since a name on the PATH may be a shim with nothing behind it.
$(READY): requirements.lock pyproject.toml
	@rm -f $(READY); \
	if ! "$(PY)" -c "import pip; $(NEW_ENOUGH)" 2>/dev/null; then \
	  python=; old=; \
	  for name in $(PYTHONS); do \
	    "$$name" -c "$(NEW_ENOUGH)" >/dev/null 2>&1 || continue; \
	    if "$$name" -c "import venv, ensurepip" >/dev/null 2>&1; then python="$$name"; break; fi; \
	    old="$$name"; \
	  done; \
	  if [ -z "$$python" ] && [ -n "$$old" ]; then \
	    echo "$$old cannot make virtual environments: its venv module is not installed."; \
	    echo "Cure on Debian and Ubuntu: sudo apt install python3-venv, then the same make again."; exit 1; \
	  elif [ -z "$$python" ]; then \
	    echo "No Python 3.11 or newer found; tried: "$(PYTHONS); \
	    echo "Cure: install one (python.org), or name yours: make PYTHON=/path/to/python3.12 lab"; exit 1; \
	  fi; \
	  echo "Making .venv with $$python (once; about 1 GB and a few minutes)"; \
	  "$$python" -m venv --clear .venv || exit 1; \
	fi; \
	"$(PY)" -m pip install --quiet --disable-pip-version-check -r requirements.lock && \
	"$(PY)" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . && \
	"$(PY)" -m jupyterlab.labextensions disable --log-level=ERROR --level=sys_prefix $(NOT_IN_LAB) && \
	"$(PY)" -m jupyter_server.extension.serverextension disable --log-level=ERROR --sys-prefix $(NOT_ON_SERVER) && \
	printf '%s\n' "$(CURDIR)" > $(READY)
