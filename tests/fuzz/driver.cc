// SPDX-License-Identifier: Apache-2.0
// Drives a fuzzer without libFuzzer:
//
//     FUZZER --corpus DIR [--seed N] [--runs N | --seconds S] [--state DIR] [--accepted N]
//     FUZZER FILE...
//
// Without --state, input n depends only on the corpus, the seed and n. With --state, the number of the next
// input and the inputs that reached new code are kept in DIR, and the next run continues there. Inputs run in
// a child process, which keeps its current input in shared memory, so that the parent can save it if the
// child dies or hangs. With --accepted it is a failure if fewer than N mutated inputs were accepted by their
// reader (fuzz::g_accepted), since then the code behind the reader is not tested.
#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "base/random.h"
#include "fuzz.h"

extern "C" [[gnu::weak]] int LLVMFuzzerInitialize(int*, char***) { return 0; }
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomMutator(std::uint8_t*, std::size_t, std::size_t,
                                                             unsigned);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMostBytes = 1 << 16;
constexpr unsigned kHangSeconds = 60;  // for one input, on a loaded machine
constexpr std::size_t kMapBytes = 1 << 16;

/// Shared by the child and its parent.
struct Shared {
  std::uint64_t next;  // the number of the running input, or of the next one
  std::uint64_t found;
  std::uint64_t accepted;  // mutated inputs
  std::size_t size;
  std::uint8_t input[kMostBytes];
};

Shared* g_shared = nullptr;
std::uint8_t g_reached[kMapBytes];  // by a hash of the code address
bool g_new = false;

struct Request {
  std::string corpus;
  std::string state;
  std::uint64_t seed = 1;
  std::uint64_t runs = ~0ull;
  std::uint64_t accepted = 0;  // at least
  double seconds = 1e18;
  std::vector<std::string> files;
};

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes.resize(std::min(bytes.size(), kMostBytes));
  return bytes;
}

void write_file(const std::string& path, const std::uint8_t* data, std::size_t size) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<long>(size));
}

/// The files of a folder by name.
std::vector<Bytes> read_folder(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* const open = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(open))
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    closedir(open);
  }
  std::sort(names.begin(), names.end());
  std::vector<Bytes> inputs;
  for (const std::string& name : names) inputs.push_back(read_file(folder + "/" + name));
  return inputs;
}

/// Boundary values.
std::uint64_t border(elision::Random& random) {
  static constexpr std::uint64_t kBorders[] = {
      0,          1,          0x7f,       0x80,       0xff,           0x7fff,         0xffff,     0x1000,
      0x7fffffff, 0x80000000, 0xffffffff, 0x70000000, 0x7ffffffff000, 0x800000000000, 1ull << 63, ~0ull};
  return kBorders[random.below(std::size(kBorders))] + random.below(3) - 1;
}

/// Changes an aligned number of 1 to 8 bytes, usually near the beginning, where headers are.
void mutate_number(Bytes& bytes, elision::Random& random) {
  constexpr std::size_t kHeader = 192;
  const std::size_t size = std::size_t{1} << random.below(4);
  if (bytes.size() < size) return;
  const std::size_t within = random.below(4) == 0 ? bytes.size() : std::min(bytes.size(), kHeader);
  const std::size_t at = random.below(within - size + 1) & ~(size - 1);
  std::uint64_t value = border(random);
  if (random.below(2) == 0) {
    std::uint64_t old = 0;
    std::memcpy(&old, bytes.data() + at, size);
    value = old + random.below(33) - 16;
  }
  std::memcpy(bytes.data() + at, &value, size);
}

void mutate_once(Bytes& bytes, const std::vector<Bytes>& corpus, elision::Random& random) {
  const std::size_t at = bytes.empty() ? 0 : random.below(bytes.size());
  const auto place = bytes.begin() + static_cast<long>(at);
  switch (random.below(10)) {
    case 0:
      if (!bytes.empty()) *place ^= static_cast<std::uint8_t>(1u << random.below(8));
      return;
    case 1:
      if (!bytes.empty()) *place = static_cast<std::uint8_t>(random.next());
      return;
    case 2:
      bytes.insert(place, static_cast<std::uint8_t>(random.next()));
      return;
    case 3:
      if (!bytes.empty())
        bytes.erase(place,
                    place + static_cast<long>(1 + random.below(std::min<std::size_t>(bytes.size() - at, 8))));
      return;
    case 4:
    case 8:
    case 9:
      return mutate_number(bytes, random);
    case 5: {  // a piece of this or another input
      const Bytes& other =
          corpus.empty() || random.below(2) == 0 ? bytes : corpus[random.below(corpus.size())];
      if (other.empty()) return;
      const std::size_t from = random.below(other.size());
      const std::size_t size = std::min<std::size_t>(other.size() - from, 1 + random.below(32));
      const Bytes piece(other.begin() + static_cast<long>(from),
                        other.begin() + static_cast<long>(from + size));
      bytes.insert(place, piece.begin(), piece.end());
      return;
    }
    case 6:
      if (random.below(8) == 0) bytes.resize(at);
      return;
    default: {
      for (std::size_t n = 1 + random.below(16); n > 0; --n)
        bytes.push_back(static_cast<std::uint8_t>(random.next()));
      return;
    }
  }
}

void mutate_as_fuzzer_does(Bytes& bytes, elision::Random& random) {
  const std::size_t size = bytes.size();
  bytes.resize(kMostBytes);
  bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, kMostBytes, static_cast<unsigned>(random.next())));
}

Bytes make_input(const std::vector<Bytes>& corpus, std::uint64_t seed, std::uint64_t number) {
  if (number < corpus.size()) return corpus[number];  // each as it is first
  elision::Random random(seed * 0x9e3779b97f4a7c15ull + number);
  Bytes bytes = corpus.empty() ? Bytes() : corpus[random.below(corpus.size())];
  // All, half or none of an input's changes come from the fuzzer's own mutator, since a random byte spoils
  // most texts.
  const std::uint64_t own = &LLVMFuzzerCustomMutator == nullptr ? 0 : random.below(3);
  for (std::uint64_t n = 1 + random.below(random.below(4) == 0 ? 24 : 4); n > 0; --n) {
    if (random.below(2) < own)
      mutate_as_fuzzer_does(bytes, random);
    else
      mutate_once(bytes, corpus, random);
  }
  bytes.resize(std::min(bytes.size(), kMostBytes));
  return bytes;
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string found_folder(const Request& request) { return request.state + "/found"; }

std::uint64_t kept_number(const Request& request) {
  std::uint64_t number = 0;
  if (!request.state.empty()) std::ifstream(request.state + "/next") >> number;
  return number;
}

void run_one(const Bytes& bytes) {
  g_shared->size = bytes.size();
  std::copy(bytes.begin(), bytes.end(), g_shared->input);
  alarm(kHangSeconds);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  alarm(0);
}

/// In the child: runs inputs from g_shared->next on.
void run_inputs(const Request& request, std::uint64_t end, double deadline) {
  std::vector<Bytes> corpus = read_folder(request.corpus);
  if (!request.state.empty())
    for (Bytes& bytes : read_folder(found_folder(request))) corpus.push_back(std::move(bytes));
  while (g_shared->next < end && now() < deadline) {
    const Bytes bytes = make_input(corpus, request.seed, g_shared->next);
    g_new = false;
    const std::uint64_t accepted = fuzz::g_accepted;
    run_one(bytes);
    if (g_shared->next >= corpus.size()) g_shared->accepted += fuzz::g_accepted - accepted;
    if (g_new && !request.state.empty() && g_shared->next >= corpus.size()) {
      const std::string name = std::to_string(request.seed) + "-" + std::to_string(g_shared->next);
      write_file(found_folder(request) + "/" + name, bytes.data(), bytes.size());
      corpus.push_back(bytes);
      ++g_shared->found;
    }
    ++g_shared->next;
  }
}

/// Returns the child's wait status.
int in_child(const std::function<void()>& what) {
  const pid_t child = fork();
  if (child == 0) {
    what();
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

std::string saved(const Request& request, std::uint64_t number) {
  const std::string folder = request.state.empty() ? "." : request.state;
  const std::string path = folder + "/failure-" + std::to_string(request.seed) + "-" + std::to_string(number);
  write_file(path, g_shared->input, g_shared->size);
  return path;
}

int run(const Request& request, const char* program) {
  if (!request.state.empty())
    if (const std::string make = "mkdir -p '" + found_folder(request) + "'"; std::system(make.c_str()) != 0)
      return 2;
  const double deadline = now() + request.seconds;
  const std::uint64_t first = g_shared->next = kept_number(request);
  const std::uint64_t end = request.runs == ~0ull ? ~0ull : first + request.runs;
  int failures = 0;
  while (g_shared->next < end && now() < deadline && failures < 10) {
    const int status = in_child([&] { run_inputs(request, end, deadline); });
    if (status == 0) break;
    if (WIFEXITED(status) && WEXITSTATUS(status) == fuzz::kSkipped) return fuzz::kSkipped;
    ++failures;
    const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    std::printf("input %llu %s; it repeats with: %s %s\n", static_cast<unsigned long long>(g_shared->next),
                hangs ? "hangs" : "fails", program, saved(request, g_shared->next).c_str());
    std::fflush(stdout);
    ++g_shared->next;
  }
  if (!request.state.empty()) std::ofstream(request.state + "/next") << g_shared->next;
  const auto shown = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
  std::printf("%llu inputs, %llu of them reached new code, %llu mutated ones were accepted, %d failures\n",
              shown(g_shared->next - first), shown(g_shared->found), shown(g_shared->accepted), failures);
  if (g_shared->accepted >= request.accepted) return failures == 0 ? 0 : 1;
  std::printf("at least %llu should have been accepted\n", shown(request.accepted));
  return 1;
}

bool parse(int argc, char** argv, Request& request) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      request.files.push_back(name);
      continue;
    }
    if (++i == argc) return false;
    if (name == "--corpus") {
      request.corpus = argv[i];
    } else if (name == "--state") {
      request.state = argv[i];
    } else if (name == "--accepted") {
      request.accepted = std::strtoull(argv[i], nullptr, 10);
    } else if (name == "--seed") {
      request.seed = std::strtoull(argv[i], nullptr, 10);
    } else if (name == "--runs") {
      request.runs = std::strtoull(argv[i], nullptr, 10);
    } else if (name == "--seconds") {
      request.seconds = std::strtod(argv[i], nullptr);
    } else {
      return false;
    }
  }
  return !request.files.empty() ||
         (!request.corpus.empty() && (request.runs != ~0ull || request.seconds < 1e18));
}

}  // namespace

/// Called at each edge of code that is built with -fsanitize-coverage=trace-pc.
extern "C" void __sanitizer_cov_trace_pc() {
  auto place = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  place *= 0x9e3779b97f4a7c15ull;
  std::uint8_t& seen = g_reached[place >> 48];
  if (seen == 0) seen = 1, g_new = true;
}

int main(int argc, char** argv) {
  Request request;
  if (!parse(argc, argv, request)) {
    std::fprintf(stderr,
                 "usage: %s --corpus DIR [--seed N] [--runs N | --seconds S] [--state DIR] [--accepted N]\n"
                 "       %s FILE...\n",
                 argv[0], argv[0]);
    return 2;
  }
  g_shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (g_shared == MAP_FAILED) return 2;
  LLVMFuzzerInitialize(&argc, &argv);
  if (request.files.empty()) return run(request, argv[0]);
  for (const std::string& file : request.files) run_one(read_file(file));
  std::printf("%zu files\n", request.files.size());
  return 0;
}
