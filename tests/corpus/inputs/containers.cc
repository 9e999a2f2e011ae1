// SPDX-License-Identifier: Apache-2.0
// Compiled by the corpus with g++: templates, exceptions, threads.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <vector>

int main(int, char** words) {
  std::ifstream file(words[1]);
  std::map<std::string, int> counts;
  std::unordered_map<std::size_t, long> lengths;
  for (std::string word; file >> word;) ++counts[word], lengths[word.size()] += word[0];
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [word, count] : counts) order.emplace_back(-count, word);
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 5; ++i) std::cout << order[i].second << ' ' << -order[i].first << '\n';
  long sum = 0;
  for (const auto& [length, total] : lengths) sum += static_cast<long>(length) * total;
  const auto matches = std::count_if(order.begin(), order.end(), [&](const auto& entry) {
    return entry.second.find("bc") != std::string::npos;
  });
  std::atomic<long> shared{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) shared += i;
    });
  for (std::thread& thread : threads) thread.join();
  try {
    if (matches >= 0) throw std::out_of_range("thrown");
  } catch (const std::exception& error) {
    std::cout << error.what() << ' ' << sum << ' ' << matches << ' ' << shared << '\n';
  }
}
