#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_links.sh LIBRARY ARCHIVE
# The library needs only libc, binds at load, and exports the functions of elision.h. Neither it nor the archive needs a
# C++ library.
set -eu
library=$1 archive=$2
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if [ "$needed" != libc.so.6 ]; then
  echo "$library needs: $needed" >&2
  exit 1
fi
if ! readelf -d "$library" | grep -q 'FLAGS.*NOW\|BIND_NOW'; then
  echo "$library binds lazily" >&2
  exit 1
fi
unexpected=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^elision_' || true)
if [ -n "$unexpected" ]; then
  echo "$library exports: $unexpected" >&2
  exit 1
fi
wanted=$(nm -u "$archive" | awk '$1 == "U" {print $2}' | grep -E '^(_Zn|_Zd|_ZSt|_ZNSt|__cxa|__gxx|_Unwind)' || true)
if [ -n "$wanted" ]; then
  echo "$archive wants of a C++ library: $wanted" >&2
  exit 1
fi
