#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: compare.sh ELISION PROGRAM [ARGUMENT...]
# Runs PROGRAM natively and under ELISION vm; fails if output, error output or status differ.
elision=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

"$@" >"$work/native.out" 2>"$work/native.err" </dev/null
echo "status $?" >>"$work/native.out"
"$elision" vm --crash-reports none -- "$@" >"$work/virtual.out" 2>"$work/virtual.err" </dev/null
echo "status $?" >>"$work/virtual.out"

diff -u "$work/native.out" "$work/virtual.out" && diff -u "$work/native.err" "$work/virtual.err"
