#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: [ELISION_VM_MODE=OPTION] compare.sh ELISION PROGRAM [ARGUMENT...]
# Runs PROGRAM natively and under ELISION vm (with OPTION); fails if output, error output or status differ. A program that cannot
# show anything here ends with 77 after a line "skipped: WHY", and so does this.
elision=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

"$@" >"$work/native.out" 2>"$work/native.err" </dev/null
status=$?
if [ $status = 77 ] && grep '^skipped: ' "$work/native.out"; then exit 77; fi
echo "status $status" >>"$work/native.out"
"$elision" vm ${ELISION_VM_MODE:-} --crash-reports none -- "$@" >"$work/virtual.out" 2>"$work/virtual.err" </dev/null
echo "status $?" >>"$work/virtual.out"

diff -u "$work/native.out" "$work/virtual.out" && diff -u "$work/native.err" "$work/virtual.err"
