// SPDX-License-Identifier: Apache-2.0
// netstreamcluster (PARSEC 3.0): clusters of a stream of points. A client sends blocks of points; the
// server reads them, then finds centres for each block. Written from PARSEC's description and the TSX paper
// (section 6).
//
// Points have 128 coordinates from 0 to 1, as PARSEC's large inputs. A proxy of streamcluster's
// computation: a point that is far from all centres of its block becomes a centre, up to 20 centres. The
// original's blocks have 16,384 points and more; here one has 256.
#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "network/run.h"
#include "support.h"

namespace {

using namespace workloads::network;

constexpr std::size_t kDimensions = 128, kMostCentres = 20;
constexpr float kFar = 24;  // squared; two random points are at 128 / 6 on average

using Point = std::array<float, kDimensions>;

float squared_distance(const Point& one, const Point& other) {
  float sum = 0;
  for (std::size_t i = 0; i < kDimensions; ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
  return sum;
}

class Netstreamcluster {
 public:
  static constexpr const char* kName = "netstreamcluster";
  static constexpr const char* kDescription =
      "PARSEC's netstreamcluster: blocks of points over a user-level TCP/IP stack";
  static constexpr std::uint32_t kMessages = 2;
  static constexpr std::uint32_t kMessageBytes = 256 * sizeof(Point), kUnitBytes = sizeof(Point);
  static constexpr std::size_t kReadBytes = 1 << 20;
  static constexpr bool kConnectionEach = false;

  explicit Netstreamcluster(const Options& options) : options_(options) {}

  Bytes stream(std::uint32_t connection) const {
    workloads::CheapRandom random(options_.seed + connection);
    Bytes stream(std::size_t{options_.messages} * options_.message_bytes);
    for (std::size_t at = 0; at < stream.size(); at += sizeof(float)) {
      const float coordinate = static_cast<float>(random.below(1 << 20)) / (1 << 20);
      std::memcpy(&stream[at], &coordinate, sizeof coordinate);
    }
    return stream;
  }

  void serve(End&, const Bytes& stream) {
    for (std::size_t at = 0; at < stream.size(); at += options_.message_bytes) {
      std::vector<Point> points(options_.message_bytes / sizeof(Point));
      std::memcpy(points.data(), &stream[at], options_.message_bytes);
      centres_ += centres_of(points);
    }
  }

  bool is_answered(End&, const Bytes&) const { return true; }

  bool report() const {
    std::printf("centres: %" PRIu64 "\n", centres_.load());
    return true;
  }

 private:
  static std::size_t centres_of(const std::vector<Point>& points) {
    std::vector<const Point*> centres;
    for (const Point& point : points) {
      if (centres.size() == kMostCentres) break;
      float nearest = std::numeric_limits<float>::max();
      for (const Point* centre : centres) nearest = std::min(nearest, squared_distance(point, *centre));
      if (nearest > kFar) centres.push_back(&point);
    }
    return centres.size();
  }

  const Options options_;
  std::atomic<std::uint64_t> centres_{0};
};

}  // namespace

int main(int argc, char** argv) { return program<Netstreamcluster>(argc, argv); }
