// SPDX-License-Identifier: Apache-2.0
// C++ exceptions: through frames, across threads, rethrown, out of a signal-free noexcept boundary.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int destroyed = 0;
struct Counted {
  ~Counted() { ++destroyed; }
};

int descend(int depth) {
  const Counted counted;
  if (depth == 0) throw std::runtime_error("bottom");
  return descend(depth - 1) + 1;
}

std::string caught_in_thread() {
  std::exception_ptr stored;
  std::thread worker([&] {
    try {
      descend(20);
    } catch (...) {
      stored = std::current_exception();
    }
  });
  worker.join();
  try {
    std::rethrow_exception(stored);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

int main() {
  try {
    descend(10);
  } catch (const std::runtime_error& error) {
    std::printf("caught %s, destroyed %d\n", error.what(), destroyed);
  }
  std::printf("from thread: %s, destroyed %d\n", caught_in_thread().c_str(), destroyed);
  std::vector<std::thread> threads;
  int caught[8] = {};
  for (int& count : caught)
    threads.emplace_back([&count] {
      for (int i = 0; i < 50; ++i) try {
          throw i;
        } catch (int value) {
          count += value == i;
        }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : caught) std::printf("%d ", count);
  try {
    static_cast<void>(std::vector<int>().at(3));
  } catch (const std::out_of_range&) {
    std::puts("out of range");
  }
}
