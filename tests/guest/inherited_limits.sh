#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: inherited_limits.sh ELISION LIMITS
# Limits on memory that the virtual machine inherits from its shell, without the right to lift them: it runs the
# guest program LIMITS within what is left, or says in one line that too little is left, for itself or for a machine of
# 72 CPUs.
elision=$1
limits=$2
drop=
setpriv --bounding-set -sys_resource --inh-caps -sys_resource true 2>/dev/null &&
  drop="setpriv --bounding-set -sys_resource --inh-caps -sys_resource"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Runs under `ulimit -v $1` on machine $2; leaves the status in $status.
# shellcheck disable=SC3045  # POSIX does not know ulimit -v; every /bin/sh of Debian does
run() {
  (ulimit -v "$1" && exec $drop "$elision" vm --machine "${2:-xeon-e5-2697v4}" -- "$limits" all_space_inside) >"$work/out" 2>"$work/err"
  status=$?
}
runs_well() { [ $status -eq 0 ] && [ "$(cat "$work/out")" = "mapped all: 1" ] && [ ! -s "$work/err" ]; }
says_so() { [ $status -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q "limit of $1 kB on memory" "$work/err"; }

for size in 300000 400000 500000; do # kB
  run $size
  if ! runs_well && ! says_so $size; then
    echo "ulimit -v $size: status $status"
    cat "$work/out" "$work/err"
    exit 1
  fi
done
run 620000 xeon-e5-2699v3-x2
if [ $status -ne 2 ] || [ "$(cat "$work/err")" != "elision: out of memory for 72 virtual CPUs" ]; then
  echo "ulimit -v 620000, 72 CPUs: status $status"
  cat "$work/out" "$work/err"
  exit 1
fi
for size in 700000 1500000; do
  run $size
  if ! runs_well; then
    echo "ulimit -v $size: status $status"
    cat "$work/out" "$work/err"
    exit 1
  fi
done
