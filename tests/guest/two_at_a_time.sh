#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: two_at_a_time.sh ELISION PROGRAM
# Runs PROGRAM in a second virtual machine while one in a first keeps a file in /dev/shm that is named by its process number.
set -eu
coproc first { exec "$1" vm -- "$2" hold; }
exec {to_first}>&"${first[1]}"
waited_for=$first_PID
read -r -u "${first[0]}" line
[ "$line" = held ]
"$1" vm -- "$2" hold </dev/null
exec {to_first}>&- {first[1]}>&-
wait "$waited_for"
