#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage, as root of a machine that may be thrown away: try_packages.sh FOLDER
#
# Installs the packages in FOLDER, uses them as a user who is not root, and removes them, which must leave no file.
set -eu
packages=$1
here=$(cd "$(dirname "$0")" && pwd)
example=$here/../api/example

say() { echo "try_packages: $*"; }

fail() {
  echo "try_packages: $*" >&2
  exit 1
}

quietly() {
  "$@" >/tmp/quiet.log 2>&1 || { tail -n 20 /tmp/quiet.log >&2; fail "failed: $*"; }
}

apt() { quietly env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@"; }

# Every file, but for what apt and dpkg keep for themselves, and logs.
all_files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /home -o -path "$packages" -o -path /var/lib/apt \
    -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \) -prune -o -print | sort
}

as_user() { su tester -c "cd && $1"; }

apt update
apt install gcc g++ clang cmake make pkg-config libc6-dev
id tester >/dev/null 2>&1 || useradd --create-home tester
cp -r "$example" "$here/two_threads.c" ~tester/
chown -R tester: ~tester
all_files >/tmp/before

apt install "$packages"/*.deb
dpkg-query -W 'elision' 'libelision*'
ldconfig -p | grep -q libelision-api || fail "the dynamic linker does not know the library"

as_user 'gcc -O1 -pthread two_threads.c -o two_threads'
as_user 'elision compare --machine core-i7-4770 --locks tatas,htm-10 --runs 1 -- ./two_threads'
[ "$(as_user 'elision run --lock tatas -- ./two_threads libelision')" = "$(printf '400\n/usr/lib/elision/libelision.so')" ] ||
  fail "elision run does not preload the installed library"
[ "$(as_user 'elision vm --lock htm-10 -- ./two_threads')" = 400 ] || fail "elision vm does not run the program"

for compilers in 'gcc g++' 'clang clang++'; do
  read -r c cxx <<<"$compilers"
  as_user "cmake -S example -B $c -DCMAKE_C_COMPILER=$c -DCMAKE_CXX_COMPILER=$cxx >/dev/null && cmake --build $c >/dev/null"
  for program in bank_c11 bank_cxx17 inventory_cxx20 bank_c11_static; do
    as_user "$c/$program >/dev/null" || fail "$program of $c fails"
  done
  as_user "$c -std=c11 example/bank.c -o $c/bank \$(pkg-config --cflags --libs elision) -pthread && $c/bank >/dev/null" ||
    fail "bank.c by pkg-config and $c fails"
  say "the example works with $c, by CMake and by pkg-config"
done

apt purge elision 'libelision*'
apt autoremove --purge
all_files >/tmp/after
diff /tmp/before /tmp/after >&2 || fail "the packages leave something behind, or take something away"
say "installed, used, and removed without a trace"
