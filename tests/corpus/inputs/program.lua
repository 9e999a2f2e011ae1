-- SPDX-License-Identifier: Apache-2.0
-- What the corpus runs under luajit and lua: traces, coroutines, strings, errors.
local function sieve(n)
  local composite, count = {}, 0
  for i = 2, n do
    if not composite[i] then
      count = count + 1
      for k = i * i, n, i do composite[k] = true end
    end
  end
  return count
end

print(sieve(50000))
local sum = 0.0
for i = 1, 300000 do sum = sum + (i % 7) * 0.5 end
print(string.format("%.2f", sum))
local words = {}
for i = 1, 2000 do words[i] = ("%05d"):format(i * 7919 % 10007) end
table.sort(words)
print(words[1], words[1000], #table.concat(words, ","), (("abab"):gsub("a(b)", "<%1>")))
local function counter(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i) end end) end
local total = 0
for square in counter(500) do total = total + square end
print(total)
print(pcall(function() local nothing = nil; return nothing.x end) == false)
