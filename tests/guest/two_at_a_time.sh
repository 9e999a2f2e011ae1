#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: two_at_a_time.sh ELISION PROGRAM
# Runs PROGRAM in a second virtual machine while one in a first keeps a file in /dev/shm that is named by its process number.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkfifo "$work/in" "$work/out"
"$1" vm -- "$2" hold <"$work/in" >"$work/out" &
first=$!
exec 3>"$work/in" 4<"$work/out"
read -r line <&4
[ "$line" = held ]
"$1" vm -- "$2" hold </dev/null
exec 3>&-
wait "$first"
