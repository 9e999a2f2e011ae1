// SPDX-License-Identifier: Apache-2.0
// netferret (PARSEC 3.0): a search for similar images. A client opens a connection for each query, which is
// small, and does not wait for the answer; the servers read all queries, then pass each through ferret's
// stages and answer with the most similar images of a database. Written from PARSEC's description and the
// TSX paper (section 6).
//
// A proxy of ferret's computation: an image has four regions, its vector has a histogram of 16 bins for
// each region, and the answer has the ten nearest of 32 vectors. The original's queries have up to 16 KB;
// here a query is one packet.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "network/run.h"
#include "support.h"

namespace {

using namespace workloads::network;

constexpr std::uint32_t kRegions = 4, kBins = 16, kImages = 32, kNearest = 10;

using Vector = std::array<std::int32_t, kRegions * kBins>;

struct Similar {
  std::uint32_t distance, image;
  auto operator<=>(const Similar&) const = default;
};
using Answer = std::array<Similar, kNearest>;

class Netferret {
 public:
  static constexpr const char* kName = "netferret";
  static constexpr const char* kDescription =
      "PARSEC's netferret: small queries over a user-level TCP/IP stack";
  static constexpr std::uint32_t kMessages = 400;
  static constexpr std::uint32_t kMessageBytes = 128, kUnitBytes = kRegions;
  static constexpr std::size_t kReadBytes = 16384;
  static constexpr bool kConnectionEach = true;

  explicit Netferret(const Options& options) : options_(options), image_bytes_(options.message_bytes) {
    workloads::CheapRandom random(options.seed);
    for (Vector& vector : database_)
      for (std::int32_t& bin : vector) bin = static_cast<std::int32_t>(random.below(image_bytes_ / 32 + 1));
  }

  Bytes stream(std::uint32_t connection) const {
    workloads::CheapRandom random(options_.seed + 1 + connection);
    Bytes image(image_bytes_);
    for (unsigned char& byte : image) byte = static_cast<unsigned char>(random.below(256));
    return image;
  }

  void serve(End& end, const Bytes& image) const {
    const Answer answer = nearest(image);
    end.send(&answer, sizeof answer);
  }

  bool is_answered(End& end, const Bytes& image) const {
    Answer answer;
    for (Similar& similar : answer) end.receive(&similar, sizeof similar, kReadBytes);
    return answer == nearest(image);
  }

  bool report() const { return true; }

 private:
  Vector vector_of(const Bytes& image) const {
    Vector vector{};
    for (std::uint32_t i = 0; i < image_bytes_; ++i)
      ++vector[i / (image_bytes_ / kRegions) * kBins + image[i] * kBins / 256];
    return vector;
  }

  Answer nearest(const Bytes& image) const {
    const Vector vector = vector_of(image);
    std::array<Similar, kImages> similar;
    for (std::uint32_t i = 0; i < kImages; ++i) {
      similar[i] = {0, i};
      for (std::size_t bin = 0; bin < vector.size(); ++bin) {
        const auto difference = static_cast<std::uint32_t>(vector[bin] - database_[i][bin]);
        similar[i].distance += difference * difference;  // modulo 2^32, should an image be very large
      }
    }
    std::ranges::partial_sort(similar, similar.begin() + kNearest);
    Answer answer;
    std::copy_n(similar.begin(), kNearest, answer.begin());
    return answer;
  }

  const Options options_;
  const std::uint32_t image_bytes_;
  std::array<Vector, kImages> database_;
};

}  // namespace

int main(int argc, char** argv) { return program<Netferret>(argc, argv); }
