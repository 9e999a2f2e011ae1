#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_links.sh LIBRARY
# The library stands in for libitm.so.1, needs only the C library, of 2.32 (__libc_single_threaded), and binds at load.
set -eu
library=$1
newest=2.32
fail() {
  echo "$library $1" >&2
  exit 1
}
name=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$name" = libitm.so.1 ] || fail "is called $name"
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "needs: $needed"
readelf -d "$library" | grep -q 'FLAGS.*NOW\|BIND_NOW' || fail 'binds lazily'
versions=$(readelf --version-info --wide "$library" | sed -n '/needs section/,$ s/.*Name: \([^ ]*\)  *Flags.*/\1/p')
for version in $versions; do
  number=${version#GLIBC_}
  highest=$(printf '%s\n' "$number" "$newest" | sort -V | tail -1)
  [ "$highest" = "$newest" ] || fail "asks for $version, which glibc $newest does not have"
done
