// SPDX-License-Identifier: Apache-2.0
// Writable memory that is shared with other processes. Each process is a virtual machine of its own, so a
// transaction that accesses such memory aborts, as by a page fault. Silicon runs such transactions, so the
// cases are for the virtual CPU only.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr std::size_t kBytes = 2 * 4096;

volatile std::uint64_t* map(int protection, int flags, int descriptor = -1) {
  void* const at =
      mmap(nullptr, kBytes, protection, flags | (descriptor < 0 ? MAP_ANONYMOUS : 0), descriptor, 0);
  return at == MAP_FAILED ? nullptr : static_cast<volatile std::uint64_t*>(at);
}

/// A file without a name.
int file() {
  const int descriptor = memfd_create("shared", MFD_CLOEXEC);
  if (ftruncate(descriptor, kBytes) != 0) return -1;
  return descriptor;
}

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

/// An access to `word` aborts each transaction, without the retry bit. Its other stores are undone.
const char* aborts(volatile std::uint64_t* word) {
  if (word == nullptr) return "there is no such memory";
  static Page own;
  *word = 5;
  for (int kind = 0; kind < 4; ++kind) {
    own.word[0] = 1;
    const Status status = transaction(
        [&] {
          own.word[0] = 2;
          switch (kind) {
            case 0:
              load(*word);
              break;
            case 1:
              *word = 6;
              break;
            case 2:
              asm volatile("lock incq %0" : "+m"(*word) : : "cc");
              break;
            default: {
              const void* from = const_cast<std::uint64_t*>(word);
              void* to = const_cast<std::uint64_t*>(own.word);
              std::size_t count = 8;
              asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
            }
          }
        },
        20);
    if (status.started()) return seen("access %d: committed", kind);
    if (status.raw != 0) return seen("access %d: status %#x", kind, status.raw);
    if (own.word[0] != 1 || *word != 5) return seen("access %d: %lu, %lu", kind, own.word[0], *word);
  }
  return nullptr;
}

const char* commits(volatile std::uint64_t* word, bool writes) {
  if (word == nullptr) return "there is no such memory";
  load(*word);
  const Status status = transaction([&] {
    if (writes) *word = 6;
    load(*word);
  });
  return status.started() ? nullptr : seen("status %#x", status.raw);
}

volatile std::uint64_t* system_v() {
  const int id = shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
  if (id < 0) return nullptr;
  void* const at = shmat(id, nullptr, 0);
  shmctl(id, IPC_RMID, nullptr);
  return at == reinterpret_cast<void*>(-1) ? nullptr : static_cast<volatile std::uint64_t*>(at);
}

volatile std::uint64_t* made_writable() {
  volatile std::uint64_t* const at = map(PROT_READ, MAP_SHARED);
  mprotect(const_cast<std::uint64_t*>(at), kBytes, kReadWrite);
  return at;
}

volatile std::uint64_t* made_read_only() {
  volatile std::uint64_t* const at = map(kReadWrite, MAP_SHARED);
  mprotect(const_cast<std::uint64_t*>(at), kBytes, PROT_READ);
  return at;
}

volatile std::uint64_t* moved() {
  volatile std::uint64_t* const at = map(kReadWrite, MAP_SHARED);
  void* const to = mremap(const_cast<std::uint64_t*>(at), kBytes, 16 * kBytes, MREMAP_MAYMOVE);
  return to == MAP_FAILED ? nullptr : static_cast<volatile std::uint64_t*>(to);
}

volatile std::uint64_t* replaced() {
  volatile std::uint64_t* const at = map(kReadWrite, MAP_SHARED);
  void* const same = const_cast<std::uint64_t*>(at);
  mmap(same, kBytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return at;
}

volatile std::uint64_t* where_it_was() {
  volatile std::uint64_t* const at = map(kReadWrite, MAP_SHARED);
  void* const same = const_cast<std::uint64_t*>(at);
  munmap(same, kBytes);
  return static_cast<volatile std::uint64_t*>(
      mmap(same, kBytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
}

const char* neighbours_commit() {
  volatile std::uint64_t* const at = map(kReadWrite, MAP_PRIVATE);
  void* const second = const_cast<std::uint64_t*>(at + 512);
  mmap(second, 4096, kReadWrite, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  const char* const wrong = aborts(at + 512);
  return wrong != nullptr ? wrong : commits(at + 511, true);
}

const Case kCases[] = {
    {"shared anonymous memory aborts", "17.3.9.2", Where::kVirtual,
     [] { return aborts(map(kReadWrite, MAP_SHARED)); }},
    {"a shared mapping of a file aborts", "17.3.9.2", Where::kVirtual,
     [] { return aborts(map(kReadWrite, MAP_SHARED, file())); }},
    {"System V shared memory aborts", "17.3.9.2", Where::kVirtual, [] { return aborts(system_v()); }},
    {"so does what becomes writable", "17.3.9.2", Where::kVirtual, [] { return aborts(made_writable()); }},
    {"so does what has moved", "17.3.9.2", Where::kVirtual, [] { return aborts(moved()); }},
    {"a private mapping of a file commits", "17.3.9.2", Where::kVirtual,
     [] { return commits(map(kReadWrite, MAP_PRIVATE, file()), true); }},
    {"shared memory that may only be read commits", "17.3.9.2", Where::kVirtual,
     [] { return commits(made_read_only(), false); }},
    {"private memory in a shared mapping's place commits", "17.3.9.2", Where::kVirtual,
     [] {
       const char* const wrong = commits(replaced(), true);
       return wrong != nullptr ? wrong : commits(where_it_was(), true);
     }},
    {"the page beside a shared one commits", "17.3.9.2", Where::kVirtual, neighbours_commit},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
