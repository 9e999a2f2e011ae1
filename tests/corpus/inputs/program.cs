// SPDX-License-Identifier: Apache-2.0
// Run by the corpus under mono: compiled loops, threads, monitors, exceptions.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

class Program {
  static void Main() {
    long sum = 0;
    for (int i = 0; i < 1000000; i++) sum += i * 31L ^ sum >> 3;
    Console.WriteLine(sum);
    object gate = new object();
    int count = 0;
    var threads = Enumerable.Range(0, 4).Select(t => new Thread(() => {
      for (int i = 0; i < 1000; i++) lock (gate) count++;
    })).ToList();
    threads.ForEach(t => t.Start());
    threads.ForEach(t => t.Join());
    Console.WriteLine(count);
    var map = new SortedDictionary<int, int>();
    for (int i = 0; i < 5000; i++) map[i % 11] = map.GetValueOrDefault(i % 11) + i;
    Console.WriteLine(string.Join(",", map));
    try {
      string nothing = null;
      Console.WriteLine(nothing.Length);
    } catch (NullReferenceException) {
      Console.WriteLine("caught");
    }
  }
}
