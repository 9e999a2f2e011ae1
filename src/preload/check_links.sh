#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_links.sh LIBRARY
# The preload library needs libc and nothing else, binds at load, and exports the entry points alone.
set -eu
library=$1
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if [ "$needed" != libc.so.6 ]; then
  echo "$library needs: $needed" >&2
  exit 1
fi
if ! readelf -d "$library" | grep -q 'FLAGS.*NOW\|BIND_NOW'; then
  echo "$library binds lazily" >&2
  exit 1
fi
unexpected=$(nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | sort -u |
  grep -vE '^(__)?pthread_(mutex|rwlock)_|^pthread_(spin|cond|barrier)_|^mtx_|^cnd_|^elision_(speculating|transactions)$|^GLIBC_2\.3\.2$' || true)
if [ -n "$unexpected" ]; then
  echo "$library exports: $unexpected" >&2
  exit 1
fi
if ! nm -D --defined-only "$library" | grep -q 'pthread_cond_wait@@GLIBC_2.3.2'; then
  echo "$library: pthread_cond_wait has no version" >&2
  exit 1
fi
