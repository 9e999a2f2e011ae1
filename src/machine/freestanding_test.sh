#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# freestanding_test.sh [--given SYMBOL]... LIBRARY...: fails if the libraries need a symbol that none of them defines
# and that is not given, use a vector register, or read thread-local storage. They run with the guest's vector
# registers and thread pointer live, so they cannot call the C library.
set -eu

status=0
given=
while [ "$1" = --given ]; do
  given="$given $2"
  shift 2
done

wanted=$(nm -u "$@" | sed -n 's/^ *U //p' | sort -u)
# shellcheck disable=SC2086 # a list
defined=$(nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u; printf '%s\n' $given)
for symbol in $wanted; do
  if ! printf '%s\n' "$defined" | grep -Fqx -- "$symbol"; then
    echo "undefined in helpers: $(c++filt "$symbol")"
    status=1
  fi
done

code=$(objdump -d --no-show-raw-insn "$@")
for pattern in '%[xyz]mm[0-9]' '%st\b' '%mm[0-7]' '%fs:'; do
  if found=$(printf '%s\n' "$code" | grep -m 3 -E -- "$pattern"); then
    echo "not allowed in helpers:"
    echo "$found"
    status=1
  fi
done
if ! printf '%s\n' "$code" | grep -q '<.*>:'; then
  echo "no code found; the check is void"
  status=1
fi
exit $status
