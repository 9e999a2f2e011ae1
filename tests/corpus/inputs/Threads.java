// SPDX-License-Identifier: Apache-2.0
// Run by the corpus under java: compiled loops, monitors, the concurrency library, exceptions, a null check.
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.stream.*;

public class Threads {
  static int counter;

  static synchronized void count() {
    ++counter;
  }

  public static void main(String[] words) throws Exception {
    long sum = 0;
    for (int i = 0; i < 2_000_000; i++) sum += i * 31L ^ sum >> 3;
    System.out.println(sum);
    Thread[] threads = new Thread[4];
    for (int t = 0; t < 4; t++) {
      threads[t] = new Thread(() -> {
        for (int i = 0; i < 2000; i++) count();
      });
      threads[t].start();
    }
    for (Thread thread : threads) thread.join();
    System.out.println(counter);
    ExecutorService pool = Executors.newFixedThreadPool(4);
    ConcurrentHashMap<String, LongAdder> map = new ConcurrentHashMap<>();
    List<Future<?>> futures = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      final int k = t;
      futures.add(pool.submit(() -> {
        for (int i = 0; i < 500; i++) map.computeIfAbsent("k" + i % 13, x -> new LongAdder()).add(k);
      }));
    }
    for (Future<?> future : futures) future.get();
    pool.shutdown();
    System.out.println(new TreeMap<>(map));
    System.out.println(IntStream.range(0, 20000).parallel().mapToLong(i -> (long) i * i % 97).sum());
    int caught = 0;
    Object nothing = words.length == 0 ? null : words;
    for (int i = 0; i < 2000; i++) {
      try {
        caught += nothing.hashCode();
      } catch (NullPointerException e) {
        caught++;
      }
    }
    System.out.println(caught);
    List<byte[]> garbage = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      garbage.add(new byte[10000]);
      if (i % 100 == 0) garbage.clear();
    }
    System.gc();
    System.out.println(garbage.size());
    BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(4);
    Thread producer = new Thread(() -> {
      try {
        for (int i = 0; i < 300; i++) queue.put(i);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
    producer.start();
    int total = 0;
    for (int i = 0; i < 300; i++) total += queue.take();
    System.out.println(total);
  }
}
