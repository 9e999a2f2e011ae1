# SPDX-License-Identifier: Apache-2.0
# What the whole-program test runs under bash: pipes, subshells, traps, jobs, here documents, exit codes.
trap 'echo "at exit: $?"' EXIT
trap 'echo caught USR1' USR1
declare -A seen
while read -r word; do
  ((seen[$word]++)) || true
done < <(head -200 "$1" | tr ' ' '\n' | sort)
for word in $(printf '%s\n' "${!seen[@]}" | sort | head -5); do
  echo "$word ${seen[$word]}"
done
kill -USR1 $$
(exit 7)
echo "subshell: $?"
sh -c 'kill -TERM $$'
echo "killed: $?"
sleep 0.01 &
wait $!
echo "waited: $?"
cat <<END | sed s/b/B/ | grep -c B
abc
def
bob
END
fibonacci() { (($1 < 2)) && echo "$1" || echo $(($(fibonacci $(($1 - 1))) + $(fibonacci $(($1 - 2))))); }
fibonacci 6
exit 9
