# SPDX-License-Identifier: Apache-2.0
# The two commands of a fresh Debian 12 or 13 machine are `make demo` and `make test`. Every target first says in one round
# which Debian packages are missing, how much there is to download and how much room it takes, and installs them.

BUILD := build
JOBS := $(shell nproc)
PREFIX := /usr/local

BUILD_PACKAGES := g++ cmake ninja-build libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev \
  libzydis-dev libgtest-dev librapidcheck-dev libdw-dev libelf-dev libprotozero-dev zlib1g-dev libre2-dev libboost-dev python3
# Writes TOML.
SILICON_PACKAGES := python3-tomli-w
# tools/sampling.py takes its distributions from it.
SAMPLING_PACKAGES := python3-scipy
# Draws the figures of make repro.
REPORT_PACKAGES := python3-matplotlib
# Programs that tests and benchmarks run, natively and in the virtual machine.
PROGRAM_PACKAGES := xz-utils coreutils bash gcc libc6-dev sqlite3 kyotocabinet-utils
# google-perftools brings tcmalloc and libprofiler, whose packages have other names in Debian 13.
# The shells and readers of manual pages are those for which texts are written.
TEST_PACKAGES := $(PROGRAM_PACKAGES) $(SILICON_PACKAGES) $(SAMPLING_PACKAGES) $(REPORT_PACKAGES) git python3-pytest python3-markdown-it gnuplot-nox binutils clang libclang-rt-dev libomp-dev pkg-config spin valgrind libjemalloc2 google-perftools libheaptrack \
  bash-completion zsh fish man-db groff-base mandoc abigail-tools linux-perf
# Readers of what elision export writes, of which the one with Go's name has pprof's format as its authors describe it.
TEST_PACKAGES += protobuf-compiler python3-protobuf golang-github-google-pprof-dev python3-jsonschema debuginfod
# pip in a virtual environment, and the tree's list of files.
LINT_PACKAGES := python3-venv git
# The last two: libraries whose elided locks are compared with ours. Without them workloads are built without those locks.
BENCH_PACKAGES := $(PROGRAM_PACKAGES) valgrind mawk time libtbb-dev libck-dev
# Programs of Debian that claims of the papers are about.
REPRO_PROGRAMS := kyotocabinet-utils
REAL_PROGRAMS := sysbench kyotocabinet-utils rocksdb-tools
# Node from elsewhere brings its own npm, and Debian's does not install beside it.
VIEWER_PACKAGES := nodejs $(if $(shell command -v npm),,npm)

.PHONY: build install deb demo demo-full demo-barrier claims repro repro-full fidelity silicon hidden-parts test test-export test-glibcs test-install test-readme test-slurm test-viewer viewer lint mutants sanitize soak bench bench-activity bench-answers bench-locks bench-locks-virtual bench-record bench-sampling bench-snapshots bench-tm bench-viewer real-programs clean help

# Builds build/bin/elision, build/lib/libelision.so and build/workloads/NAME.
build:
	@tools/install-packages "make build" $(BUILD_PACKAGES)
	@$(MAKE) --no-print-directory compile

.PHONY: compile
compile:
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)

# Installs below PREFIX, as other tools do; packagers add DESTDIR. Builds no tests and installs no workloads.
install:
	@tools/install-packages "make install" $(BUILD_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target installed
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

# Packages of the Debian release that this machine runs, into build-package/packages. CPack asks dpkg-dev and file for dependencies.
deb:
	@tools/install-packages "make deb" $(BUILD_PACKAGES) dpkg-dev file
	@cmake --preset package -S . >/dev/null
	@cmake --build build-package --parallel $(JOBS) --target installed
	@cd build-package && cpack && ls packages/*.deb

# The main job on the built-in virtual machine, and the paper's claims beside what was measured. What claims are
# judged by runs on several variations of the machine; with demo-full everything does.
demo:
	@tools/install-packages "make demo" $(BUILD_PACKAGES)
	@echo "make demo: builds (4 to 20 minutes on two CPUs), then runs the main benchmark (5 to 12 minutes)"
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload arraybench onelock workloads/probes/all
	@tools/demo --build $(BUILD)

# `make demo` with every cell on several variations of the machine; it says first how long that takes.
demo-full:
	@tools/install-packages "make demo-full" $(BUILD_PACKAGES)
	@echo "make demo-full: builds (4 to 20 minutes on two CPUs), then says how long the runs will take."
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload arraybench onelock workloads/probes/all
	@tools/demo --build $(BUILD) --full

# The paper's claims on ArrayBench in two forms, on 32 variations of the machine; writes docs/measured/claims.md. An hour on two CPUs.
claims:
	@tools/install-packages "make claims" $(BUILD_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload arraybench onelock
	@tools/demo --build $(BUILD) --claims-only --variations 32 --output docs/measured/claims.md

# The papers' claims in one table, with a report of figures in build/repro/report; writes docs/measured/repro.md. Twenty minutes on two CPUs.
# Snakemake comes from a venv, pinned by hash. CLAIMS="NAME..." takes some claims and tables and writes no page. NATIVE=1 runs on this CPU, if its
# transactions commit, what can run there, and writes a page of its own.
repro:
	@$(MAKE) --no-print-directory repro-tools
	@tools/repro --build $(BUILD) $(if $(NATIVE),--native) $(CLAIMS)

# `make repro` with every point of the papers' figures and 32 variations of each machine: hours. It says how many, and if it is
# interrupted, it goes on where it was. CLAIMS="NAME..." takes some claims; PROFILE=repro/workflow/profile/slurm runs on a cluster.
repro-full:
	@$(MAKE) --no-print-directory repro-tools
	@tools/repro --build $(BUILD) --full $(if $(PROFILE),--profile $(PROFILE)) $(CLAIMS)

.PHONY: repro-tools
repro-tools: FOR := make repro
repro-tools:
	@tools/install-packages "$(FOR)" $(BUILD_PACKAGES) $(REPORT_PACKAGES) $(REPRO_PROGRAMS) python3-venv $(MORE_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload workloads/all
	@test -x $(BUILD)/repro-tools/bin/snakemake || { python3 -m venv $(BUILD)/repro-tools && \
	  $(BUILD)/repro-tools/bin/pip install -q --require-hashes -r repro/workflow/requirements.txt; }

# The paper's claim on barriers, on small matrices; a minute or two.
demo-barrier:
	@tools/install-packages "make demo-barrier" $(BUILD_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload backward_solver
	@tools/demo-barrier --build $(BUILD)

# Every probe on virtual machines beside figures of real ones, and records of real CPUs beside the machines that describe them; writes
# docs/measured/fidelity.md. QUICK=1 takes a fraction of the time, leaves records out and writes nothing.
fidelity:
	@tools/install-packages "make fidelity" $(BUILD_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision workloads/all
	@tools/fidelity --build $(BUILD) $(if $(QUICK),--quick)

# Every probe, the experiments and the workloads under every design on this CPU, if its transactions commit; writes a record into
# repro/silicon/. Five minutes on an idle machine with two CPUs; an interrupted call goes on where it stopped. QUICK=1 takes half a minute.
silicon:
	@tools/install-packages "make silicon" $(BUILD_PACKAGES) $(SILICON_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload workloads/all
	@tools/silicon --build $(BUILD) $(if $(QUICK),--quick)

# Virtual machines with drawn values, described from their records as if they were real parts, and how near the description comes; writes
# docs/measured/hidden-parts.md. Twenty minutes on two CPUs. QUICK=1 takes one part and four values.
hidden-parts:
	@tools/install-packages "make hidden-parts" $(BUILD_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload workloads/all
	@tools/hidden-parts --build $(BUILD) $(if $(QUICK),--quick)

# All tests; with transactions in hardware, the native ones once more without. The last lines are ctest's summary.
test:
	@programs=$$(tests/corpus/packages quick) && tools/install-packages "make test" $(BUILD_PACKAGES) $(TEST_PACKAGES) $$programs
	@echo "make test: builds (9 to 29 minutes on two CPUs), then runs all tests (10 to 29 minutes)"
	@$(MAKE) --no-print-directory compile
	@tools/run-tests $(BUILD)

# Defects put into the code one by one: each must be caught within a minute.
mutants:
	@tools/install-packages "make mutants" $(BUILD_PACKAGES) $(TEST_PACKAGES)
	@tools/mutants --build $(BUILD)

# clang-format, clang-tidy, shellcheck, ruff, layers; what clang-tidy knows to be clean, it skips (tests/lint/README.md). Needs the network.
lint:
	@tools/install-packages "make lint" $(BUILD_PACKAGES) $(TEST_PACKAGES) $(LINT_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@[ -x $(BUILD)/lint-tools/bin/pip ] || python3 -m venv $(BUILD)/lint-tools
	@$(BUILD)/lint-tools/bin/pip install --quiet --disable-pip-version-check --requirement tests/lint/requirements.txt
	@python3 -B tests/lint/lint.py

# The unit tests under AddressSanitizer and UndefinedBehaviorSanitizer, then those with threads under ThreadSanitizer, which sees no
# transactions and gets none.
sanitize:
	@tools/install-packages "make sanitize" $(BUILD_PACKAGES)
	@for preset in asan-ubsan tsan; do \
	  cmake --preset $$preset -S . >/dev/null && cmake --build --preset $$preset --parallel $(JOBS) && \
	  ctest --preset $$preset --parallel $(JOBS) || exit 1; done

# The preload library under the C libraries of other Debian releases, which it downloads; some minutes.
test-glibcs:
	@tools/install-packages "make test-glibcs" $(BUILD_PACKAGES) $(TEST_PACKAGES) debian-archive-keyring
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision_preload
	@python3 -B tests/glibcs/glibcs.py $(BUILD) pthread tatas ticket htm-10 hle-scm tatas-pri-aahtm pthread-aahtm

RELEASES := bookworm trixie

# The packages of each Debian release that README.md names: built in a bare root from what is committed, then installed, used and removed
# in another one. Needs root and the network. RELEASES=bookworm takes one release.
test-install:
	@tools/install-packages "make test-install" mmdebstrap
	@for release in $(RELEASES); do tools/test-packages $$release || exit 1; done

# The commands of README.md in a bare root of each release, from what is committed; some 45 minutes. Needs root.
# ELISION_HIDE_RTM=1 hides RTM from all of them.
test-readme:
	@tools/install-packages "make test-readme" mmdebstrap python3
	@for release in $(RELEASES); do tools/try-on-debian $$release $(addprefix ELISION_HIDE_RTM=,$(ELISION_HIDE_RTM)) || exit 1; done

# The page of `elision compare --html` and `elision report --html`, from viewer/ into viewer/dist/, which is committed. Needs the network, for npm.
viewer:
	@tools/install-packages "make viewer" $(VIEWER_PACKAGES)
	@cd viewer && npm ci --ignore-scripts --silent && npm run --silent build

# That the committed page is what viewer/ makes, and the page in Chromium; four minutes. Needs the network, for npm.
test-viewer:
	@tools/install-packages "make test-viewer" $(BUILD_PACKAGES) $(REPORT_PACKAGES) python3-pytest $(VIEWER_PACKAGES) chromium
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload workloads/all
	@ctest --test-dir $(BUILD) --output-on-failure --label-regex viewer

# What elision export writes, in the viewers that it is for: pprof, the Firefox Profiler's own command line, and speedscope in Chromium. Two
# minutes. Needs the network, for npm and Go's modules.
test-export:
	@tools/install-packages "make test-export" $(BUILD_PACKAGES) python3-pytest python3-jsonschema $(VIEWER_PACKAGES) $(if $(shell command -v go),,golang-go) chromium
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision
	@ctest --test-dir $(BUILD) --output-on-failure --label-regex '^export$$'

# The claims' runs on a Slurm cluster of this machine alone, on loopback; a minute. Debian starts the daemons that it installs: take a container.
test-slurm:
	@$(MAKE) --no-print-directory repro-tools FOR="make test-slurm" MORE_PACKAGES="python3-pytest slurm-wlm munge"
	@cd tests/tools && python3 -B -m pytest -q -p no:cacheprovider --build=$(CURDIR)/$(BUILD) repro_cluster_test.py repro_slurm_test.py

# Hundreds of seeds where `make test` takes a few, over a million random sequences, an hour of fuzzing, and some eighty programs. Among the
# packages are servers (redis, nginx, mariadb...), which Debian starts as it installs them: take a container.
soak:
	@programs=$$(tests/corpus/packages all) && tools/install-packages "make soak" $(BUILD_PACKAGES) $(TEST_PACKAGES) $$programs
	@$(MAKE) --no-print-directory compile
	@ctest --test-dir $(BUILD) --output-on-failure --parallel 2 --label-regex soak

# How long the page of a profile with 200,000 call paths takes in Chromium; prints the times. Needs the network, for npm.
bench-viewer:
	@tools/install-packages "make bench-viewer" $(VIEWER_PACKAGES) chromium
	@[ -d viewer/node_modules ] || (cd viewer && npm ci --ignore-scripts --silent)
	@node tests/viewer/bench.mjs

# The virtual machine's slowdown against native and against valgrind's cachegrind, and what its order of events costs;
# writes docs/measured/performance.md.
bench:
	@tools/install-packages "make bench" $(BUILD_PACKAGES) $(BENCH_PACKAGES)
	@$(MAKE) --no-print-directory compile
	@tools/bench --build $(BUILD)

# What lock designs cost beside glibc's locks, natively; then what libelision-api costs, and programs with their synchronisation in
# several variants, also virtually. Writes docs/measured/lock-costs.md (on AMD lock-costs-amd.md), docs/measured/api-costs.md and docs/measured/variants.md. QUICK=1 writes nothing.
bench-locks:
	@tools/install-packages "make bench-locks" $(BUILD_PACKAGES) $(BENCH_PACKAGES)
	@$(MAKE) --no-print-directory compile
	@tools/bench-locks --build $(BUILD) $(if $(QUICK),--quick)
	@tools/bench-api --build $(BUILD) $(if $(QUICK),--quick)
	@tools/bench-variants --build $(BUILD) $(if $(QUICK),--quick)

# Cost of recording thread activity in the lock library, natively; prints a table.
bench-activity:
	@tools/install-packages "make bench-activity" $(BUILD_PACKAGES)
	@$(MAKE) --no-print-directory compile
	@tools/bench-activity --build $(BUILD)

# What elision record costs a program, natively, beside perf record; writes docs/measured/record.md. Ten minutes on an idle machine.
bench-record:
	@tools/install-packages "make bench-record" $(BUILD_PACKAGES) linux-perf
	@$(MAKE) --no-print-directory compile
	@tools/bench-record --build $(BUILD)

# Sampled comparisons (compare --sample) beside whole runs, on the virtual machine; writes docs/measured/sampling.md. An hour on two
# CPUs; if it is interrupted, it goes on where it was.
bench-sampling:
	@tools/install-packages "make bench-sampling" $(BUILD_PACKAGES) $(SAMPLING_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload workloads/all
	@tools/bench-sampling --build $(BUILD)

# Comparisons whose runs share the program's beginning beside such whose runs do not; writes docs/measured/snapshots.md. Some 20 minutes on
# two CPUs.
bench-snapshots:
	@tools/install-packages "make bench-snapshots" $(BUILD_PACKAGES) $(SAMPLING_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload workloads/all
	@tools/bench-snapshots --build $(BUILD)

# Programs with transactions of GCC under its libitm and under libelision-tm. Writes docs/measured/tm-native.md, or tm-without-htm.md on CPUs without
# hardware transactions, in some 20 minutes on two idle CPUs; then docs/measured/tm.md, virtually, in hours.
bench-tm:
	@tools/install-packages "make bench-tm" $(BUILD_PACKAGES) $(BENCH_PACKAGES)
	@$(MAKE) --no-print-directory compile
	@tools/bench-tm --natively --build $(BUILD)
	@tools/bench-tm --build $(BUILD)

# What compare says within its default budget about three long programs, and how long it takes; writes docs/measured/answers.md. Ten minutes on
# two CPUs. With WHOLE=1 also the leading designs as whole runs, for hours. If it is interrupted, it repeats only the interrupted comparison.
bench-answers:
	@tools/install-packages "make bench-answers" $(BUILD_PACKAGES) $(REAL_PROGRAMS) $(SAMPLING_PACKAGES)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload workloads/all
	@tools/bench-answers --build $(BUILD) $(if $(WHOLE),--whole)

# Elided locks of glibc, oneTBB and Concurrency Kit beside ours on the virtual machine; writes docs/measured/elision-compared.md.
# QUICK=1 runs few cells and writes nothing.
bench-locks-virtual:
	@tools/install-packages "make bench-locks-virtual" $(BUILD_PACKAGES) $(BENCH_PACKAGES)
	@$(MAKE) --no-print-directory compile
	@tools/bench-elision --build $(BUILD) $(if $(QUICK),--quick)

# What compare says about three programs from Debian, virtually and, where transactions commit, natively; five minutes. Writes
# docs/measured/real-programs.md and real-programs-native.md, and fails if a virtual diagnosis does not match the source.
real-programs:
	@tools/install-packages "make real-programs" $(BUILD_PACKAGES) $(REAL_PROGRAMS)
	@cmake --preset release -S . >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target elision elision_preload
	@tools/real-programs --build $(BUILD)

# Deletes what `make build` has built.
clean:
	rm -rf $(BUILD)

# What each target does: the first part of the comment above it.
help:
	@awk '/^# / { text = text substr($$0, 3) " "; next } \
	  /^[a-z-]+:/ && text { sub(/[.;:] .*/, "", text); sub(/:.*/, ""); printf "%-20s  %s\n", $$0, text } \
	  { text = "" }' $(firstword $(MAKEFILE_LIST))
