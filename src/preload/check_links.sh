#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_links.sh LIBRARY
# The preload library needs only the C library of 2.28, binds at load, and exports only the entry points.
set -eu
library=$1
newest=2.28
fail() {
  echo "$library $1" >&2
  exit 1
}

# libpthread is the C library's, empty since 2.34 (src/runtime/old_versions.h).
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
[ "$needed" = 'libc.so.6 libpthread.so.0 ' ] || fail "needs: $needed"

versions=$(readelf --version-info --wide "$library" | sed -n '/needs section/,$ s/.*Name: \([^ ]*\)  *Flags.*/\1/p')
[ -n "$versions" ] || fail "asks for no versions at all: is this a library for glibc?"
for version in $versions; do
  number=${version#GLIBC_}
  case $version in
  GLIBC_[0-9]*) highest=$(printf '%s\n' "$number" "$newest" | sort -V | tail -1) ;;
  *) highest= ;;  # GLIBC_PRIVATE, GLIBC_ABI_DT_RELR and the like: no number, and never in 2.28
  esac
  [ "$highest" = "$newest" ] || fail "asks for $version, which glibc $newest does not have"
done

readelf -d "$library" | grep -q 'FLAGS.*NOW\|BIND_NOW' || fail 'binds lazily'
unexpected=$(nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | sort -u |
  grep -vE '^(__)?pthread_(mutex|rwlock)_|^pthread_(spin|cond|barrier)_|^mtx_|^cnd_|^elision_(counters|design_change|speculating|thread_activity|transactions)$|^GLIBC_2\.(2\.5|3\.2)$' |
  grep -vE '^(GOMP_(critical|atomic|parallel$|barrier$|task|target)|__kmpc_|OMP_3\.0$|VERSION$)|^omp_.*_lock(_|_with_hint_?)?$|^omp_target_memcpy_(rect_)?async$' || true)
[ -z "$unexpected" ] || fail "exports: $unexpected"
for symbol in pthread_cond_wait@@GLIBC_2.3.2 pthread_cond_wait@GLIBC_2.2.5 omp_set_lock@@OMP_3.0 omp_set_lock@VERSION; do
  nm -D --defined-only "$library" | grep -q " $symbol\$" || fail "has no $symbol"
done
# References without a version get the first one (src/preload/condition.cc).
first=$(readelf --version-info --wide "$library" | sed -n 's/.*Flags: none.*Index: 2 .*Name: \(.*\)/\1/p')
[ "$first" = GLIBC_2.2.5 ] || fail "has $first as its first version"
