// SPDX-License-Identifier: Apache-2.0
// BackwardSolver (Izraelevitz, Xiang, Scott: "Performance Improvement via Always-Abort HTM", IV-B, Fig. 14):
// a sparse triangular system, solved level by level. The rows of a level depend only on earlier levels, so
// threads share them, and meet at an OpenMP barrier after each level.
//
//   --levels      barriers per solve
//   --rows        rows per level, on average; levels differ by up to a factor of three, as do the nonzeros of
//                 rows, so that threads arrive at different times
//   --nonzeros    nonzeros per row beside the diagonal, on average
//   --evict       megabytes to read before each solve, uncounted, so that small matrices are out of the
//                 caches like the papers' large ones
//
// A marker of a part (--start marker) stands before the first counted solve.
//
// The matrix keeps the order that it had before the levels were known, as in the paper's figure: a
// permutation scatters the rows of a level over the vectors and over the nonzeros. Only the nonzeros beside
// the diagonal are there. The paper's program is one of SpMP (github.com/IntelLabs/SpMP, test/trsv_test.cpp),
// which also says how bytes count: 12 for a nonzero or an element of the diagonal, 4 for an element of the
// permutation. The result must be that of a serial solve to the bit, since every sum is added up in the same
// order.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

#include "command_line.h"
#include "elision/elision.h"
#include "support.h"

namespace {

using workloads::CheapRandom;
using workloads::now_ns;

struct Options {
  unsigned threads = 1;
  unsigned levels = 40;
  unsigned rows = 100;
  unsigned nonzeros = 16;
  unsigned solves = 1;
  unsigned warmup = 1;
  unsigned evict_megabytes = 0;
  std::uint64_t seed = 1;
  bool no_pin = false;
};

/// Compressed rows. permutation[i] is the i-th row to be solved.
struct Matrix {
  std::vector<std::uint32_t> first_row_of_level;  // and at the end the number of rows
  std::vector<std::uint32_t> permutation;
  std::vector<std::uint32_t> first_of_row;  // its first nonzero; and at the end the number of nonzeros
  std::vector<std::uint32_t> column;
  std::vector<double> value;

  unsigned levels() const { return static_cast<unsigned>(first_row_of_level.size()) - 1; }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(permutation.size()); }
  /// The bytes of a solve, as SpMP counts them.
  double bytes() const {
    constexpr double kOfNonzero = sizeof(double) + sizeof(std::uint32_t);
    return static_cast<double>(value.size() + rows()) * kOfNonzero +
           static_cast<double>(rows()) * sizeof(std::uint32_t);
  }
};

/// Between half and one and a half times `average`.
std::uint32_t around(CheapRandom& random, std::uint32_t average) {
  return std::max(1u, average / 2 + random.below(average + 1));
}

/// Draws the levels' numbers of rows and the order of the rows.
void draw_levels(CheapRandom& random, const Options& options, Matrix& m) {
  m.first_row_of_level.push_back(0);
  std::uint32_t rows = 0;
  for (unsigned level = 0; level < options.levels; ++level)
    m.first_row_of_level.push_back(rows += around(random, options.rows));
  m.permutation.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) m.permutation[i] = i;
  for (std::uint32_t i = rows; i-- > 1;) std::swap(m.permutation[i], m.permutation[random.below(i + 1)]);
}

/// Draws the rows' numbers of nonzeros. The first level has none.
void draw_lengths(CheapRandom& random, const Options& options, Matrix& m) {
  std::vector<std::uint32_t> length(m.rows());
  for (std::uint32_t i = m.first_row_of_level[1]; i < m.rows(); ++i)
    length[m.permutation[i]] = around(random, options.nonzeros);
  m.first_of_row.push_back(0);
  for (const std::uint32_t one : length) m.first_of_row.push_back(m.first_of_row.back() + one);
  m.column.resize(m.first_of_row.back());
  m.value.resize(m.first_of_row.back());
}

Matrix make_matrix(const Options& options) {
  CheapRandom random(options.seed);
  Matrix m;
  draw_levels(random, options, m);
  draw_lengths(random, options, m);
  for (unsigned level = 1; level < options.levels; ++level) {
    const std::uint32_t begin = m.first_row_of_level[level], end = m.first_row_of_level[level + 1];
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t row = m.permutation[i];
      for (std::uint32_t k = m.first_of_row[row]; k < m.first_of_row[row + 1]; ++k) {
        m.column[k] = m.permutation[random.below(begin)];  // solved in an earlier level
        m.value[k] = (1.0 + random.below(1000)) / 4096 / options.nonzeros;
      }
    }
  }
  return m;
}

[[gnu::always_inline]] inline void solve_rows(const Matrix& m, const std::vector<double>& b,
                                              std::vector<double>& y, std::uint32_t begin,
                                              std::uint32_t end) {
  for (std::uint32_t i = begin; i < end; ++i) {
    const std::uint32_t row = m.permutation[i];
    double sum = b[row];
    for (std::uint32_t k = m.first_of_row[row + 1]; k-- > m.first_of_row[row];)
      sum -= m.value[k] * y[m.column[k]];
    y[row] = sum;
  }
}

void solve_serially(const Matrix& m, const std::vector<double>& b, std::vector<double>& y) {
  solve_rows(m, b, y, 0, m.rows());
}

/// The part of one thread: its share of each level's rows.
void solve_with_others(const Matrix& m, const std::vector<double>& b, std::vector<double>& y) {
  const auto threads = static_cast<std::uint32_t>(omp_get_num_threads());
  const auto me = static_cast<std::uint32_t>(omp_get_thread_num());
  for (unsigned level = 0; level < m.levels(); ++level) {
    const std::uint32_t first = m.first_row_of_level[level], rows = m.first_row_of_level[level + 1] - first;
    solve_rows(m, b, y, first + rows * me / threads, first + rows * (me + 1) / threads);
#pragma omp barrier
  }
}

/// Reads other data to evict the matrix from the caches.
class Evictor {
 public:
  explicit Evictor(unsigned megabytes) : data_((std::size_t{megabytes} << 20) / sizeof(std::uint64_t), 1) {}
  std::uint64_t run() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < data_.size(); i += 64 / sizeof(std::uint64_t)) sum += data_[i];
    return sum;
  }

 private:
  std::vector<std::uint64_t> data_;
};

void parse(workloads::CommandLine& line, Options& options) {
  line.add("--threads", options.threads).within(1, 1024);
  line.add("--levels", options.levels).within(1, 1 << 20);
  line.add("--rows", options.rows, "in a level, on average").within(1, 1 << 20);
  line.add("--nonzeros", options.nonzeros, "of a row beside the diagonal, on average").within(1, 4096);
  line.add("--solves", options.solves).within(1, 1 << 20);
  line.add("--warmup", options.warmup, "uncounted solves");
  line.add("--evict", options.evict_megabytes, "megabytes to read before each solve").within(0, 4096);
  line.add("--seed", options.seed);
  line.add_flag("--no-pin", options.no_pin, "do not bind threads to CPUs");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("backward_solver",
                              "A sparse triangular solve with a barrier behind each level");
  parse(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  const Matrix matrix = make_matrix(options);
  CheapRandom random(options.seed + 1);
  std::vector<double> b(matrix.rows()), expected(matrix.rows()), y(matrix.rows());
  for (double& element : b) element = 1.0 + random.below(1000) / 1024.0;
  solve_serially(matrix, b, expected);
  const Evictor evictor(options.evict_megabytes);
  omp_set_dynamic(0);
  omp_set_num_threads(static_cast<int>(options.threads));
#pragma omp parallel
  if (!options.no_pin) workloads::pin_to(static_cast<unsigned>(omp_get_thread_num()));

  std::uint64_t spent_ns = 0, wrong = 0, kept = 0;
  for (unsigned solve = 0; solve < options.warmup + options.solves; ++solve) {
    std::fill(y.begin(), y.end(), -1.0);
    kept += evictor.run();
    if (solve == options.warmup) elision_simulation_start();
    std::uint64_t start_ns = 0;
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp master
      start_ns = now_ns();
      solve_with_others(matrix, b, y);
    }
    if (solve >= options.warmup) spent_ns += now_ns() - start_ns;
    for (std::uint32_t i = 0; i < matrix.rows(); ++i)
      wrong += std::bit_cast<std::uint64_t>(y[i]) != std::bit_cast<std::uint64_t>(expected[i]);
  }
  asm volatile("" : : "r"(kept));
  const double seconds = static_cast<double>(spent_ns) / 1e9;
  std::printf("levels: %u\n", matrix.levels());
  std::printf("nonzeros: %zu\n", matrix.value.size());
  std::printf("seconds: %.6f\n", seconds);
  std::printf("throughput: %.4f GB/s\n", matrix.bytes() * options.solves / seconds / 1e9);
  if (wrong == 0) return 0;
  std::printf("WRONG: %" PRIu64 " elements differ from the serial solve\n", wrong);
  return 1;
}
