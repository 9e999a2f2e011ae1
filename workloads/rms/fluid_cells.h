// SPDX-License-Identifier: Apache-2.0
// The cells of fluidanimate's box, their particles, and the threads that own them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace workloads::rms {

inline constexpr std::size_t kCellParticles = 16;

struct Vector {
  float x = 0, y = 0, z = 0;
  Vector operator+(Vector o) const { return {x + o.x, y + o.y, z + o.z}; }
  Vector operator-(Vector o) const { return {x - o.x, y - o.y, z - o.z}; }
  Vector operator*(float f) const { return {x * f, y * f, z * f}; }
  float squared() const { return x * x + y * y + z * z; }
};

/// The particles of a cell. The values of each property lie together.
struct alignas(128) Cell {
  Vector position[kCellParticles], half_velocity[kCellParticles], velocity[kCellParticles],
      acceleration[kCellParticles];
  float density[kCellParticles] = {};
  Cell* next = nullptr;
};

/// All cells at one time, with their numbers of particles.
class Grid {
 public:
  explicit Grid(std::size_t cells) : first_(cells), counts_(cells) {}
  ~Grid() {
    for (Cell& first : first_)
      for (Cell* cell = first.next; cell != nullptr;) delete std::exchange(cell, cell->next);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  void clear(std::size_t cell) { counts_[cell] = 0; }

  void insert(std::size_t into, const Cell& from, std::size_t i) {
    const std::size_t number = counts_[into]++;
    Cell* cell = &first_[into];
    for (std::size_t full = number / kCellParticles; full != 0; --full) {
      if (cell->next == nullptr) cell->next = new Cell;
      cell = cell->next;
    }
    const std::size_t at = number % kCellParticles;
    cell->position[at] = from.position[i];
    cell->half_velocity[at] = from.half_velocity[i];
    cell->velocity[at] = from.velocity[i];
  }

  /// Calls `visit(cell of the chain, place in it, number)` for a cell's particles, but the first `end`.
  template <class Visit>
  void for_each(std::size_t index, std::size_t end, Visit visit) {
    Cell* cell = &first_[index];
    for (std::size_t number = 0; number < end; ++number) {
      if (number != 0 && number % kCellParticles == 0) cell = cell->next;
      visit(*cell, number % kCellParticles, number);
    }
  }
  template <class Visit>
  void for_each(std::size_t index, Visit visit) {
    for_each(index, counts_[index], visit);
  }

  std::size_t cells() const { return first_.size(); }

 private:
  std::vector<Cell> first_;
  std::vector<std::uint32_t> counts_;
};

/// The places of cells, their owners, and which cells have a neighbour of another thread.
class Space {
 public:
  Space(std::size_t width, std::size_t height, unsigned threads)
      : width_(width), height_(height), owners_(cells()), neighbours_(cells()) {
    const std::size_t rows = rows_of_blocks(threads), blocks = threads / rows;
    for (std::size_t index = 0; index < cells(); ++index) {
      const std::size_t row = z_of(index) * rows / width_, block = x_of(index) * blocks / width_;
      owners_[index] = static_cast<unsigned>(row * blocks + block);
    }
    for (std::size_t index = 0; index < cells(); ++index) find_neighbours(index);
  }

  /// Returns the greatest divisor of the number of threads that is at most its square root.
  static std::size_t rows_of_blocks(unsigned threads) {
    std::size_t rows = 1;
    for (std::size_t divisor = 1; divisor * divisor <= threads; ++divisor)
      if (threads % divisor == 0) rows = divisor;
    return rows;
  }

  std::size_t cells() const { return width_ * width_ * height_; }
  unsigned owner(std::size_t index) const { return owners_[index]; }
  bool is_border(std::size_t index) const { return neighbours_[index].has_other_owner; }
  /// Returns the neighbours with a lower index.
  const std::vector<std::uint32_t>& before(std::size_t index) const { return neighbours_[index].before; }

  std::size_t cell_at(const Vector& position) const {
    const auto place = [](float at, std::size_t size) {
      return static_cast<std::size_t>(std::clamp(at, 0.0f, static_cast<float>(size) - 0.5f));
    };
    return index_of(place(position.x, width_), place(position.y, height_), place(position.z, width_));
  }
  float width() const { return static_cast<float>(width_); }
  float height() const { return static_cast<float>(height_); }

 private:
  struct Neighbours {
    bool has_other_owner = false;
    std::vector<std::uint32_t> before;
  };

  std::size_t index_of(std::size_t x, std::size_t y, std::size_t z) const {
    return (z * height_ + y) * width_ + x;
  }
  std::size_t x_of(std::size_t index) const { return index % width_; }
  std::size_t y_of(std::size_t index) const { return index / width_ % height_; }
  std::size_t z_of(std::size_t index) const { return index / width_ / height_; }

  void find_neighbours(std::size_t index) {
    const auto range = [](std::size_t at, std::size_t size) {
      return std::pair(at == 0 ? at : at - 1, std::min(at + 1, size - 1));
    };
    const auto [z0, z1] = range(z_of(index), width_);
    const auto [y0, y1] = range(y_of(index), height_);
    const auto [x0, x1] = range(x_of(index), width_);
    for (std::size_t z = z0; z <= z1; ++z)
      for (std::size_t y = y0; y <= y1; ++y)
        for (std::size_t x = x0; x <= x1; ++x) add_neighbour(index, index_of(x, y, z));
  }

  void add_neighbour(std::size_t index, std::size_t neighbour) {
    if (owners_[neighbour] != owners_[index]) neighbours_[index].has_other_owner = true;
    if (neighbour < index) neighbours_[index].before.push_back(static_cast<std::uint32_t>(neighbour));
  }

  const std::size_t width_, height_;
  std::vector<unsigned> owners_;
  std::vector<Neighbours> neighbours_;
};

}  // namespace workloads::rms
