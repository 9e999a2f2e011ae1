// SPDX-License-Identifier: Apache-2.0
// The sections of the RMS-TM programs. Each section names the mutex of what it touches; the option --locks
// says whether that mutex guards it, or one mutex for all sections.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <string>

#include "command_line.h"
#include "team_options.h"

namespace workloads::rms {

enum class Locking {
  kNone,  // no mutex, for one thread
  kOne,   // one mutex for all sections: the TSX paper's sgl, and its tsx if the lock library elides it
  kFine,  // the mutex that the section names: the TSX paper's fgl
};

struct TeamOptions : workloads::TeamOptions {
  std::string locks = "fine";

  Locking locking() const { return locks == "one" ? Locking::kOne : Locking::kFine; }
};

inline void add_team_options(CommandLine& line, TeamOptions& options) {
  workloads::add_team_options(line, options).within(1, 256);
  line.add("--locks", options.locks, "one: a mutex for all sections; fine: many").one_of({"one", "fine"});
}

/// What the threads of a program share.
class Locks {
 public:
  explicit Locks(Locking locking) : locking_(locking) {}

 private:
  friend class Sections;
  const Locking locking_;
  alignas(128) pthread_mutex_t one_ = PTHREAD_MUTEX_INITIALIZER;
};

/// A thread's way into sections.
class Sections {
 public:
  explicit Sections(Locks& locks) : locks_(locks) {}

  /// Runs `body()` as a section on what `own` guards. It may run further sections: a thread that
  /// holds a mutex takes others in one order only, which the program chooses.
  template <class Body>
  void run(pthread_mutex_t& own, Body body) {
    enter(own);
    body();
    leave(own);
    ++count_;
  }

  /// How many ran, those inside of others included.
  std::uint64_t count() const { return count_; }

 private:
  void enter(pthread_mutex_t& own) {
    if (locks_.locking_ == Locking::kFine) {
      pthread_mutex_lock(&own);
    } else if (locks_.locking_ == Locking::kOne && depth_++ == 0) {
      pthread_mutex_lock(&locks_.one_);
    }
  }
  void leave(pthread_mutex_t& own) {
    if (locks_.locking_ == Locking::kFine) {
      pthread_mutex_unlock(&own);
    } else if (locks_.locking_ == Locking::kOne && --depth_ == 0) {
      pthread_mutex_unlock(&locks_.one_);
    }
  }

  Locks& locks_;
  unsigned depth_ = 0;  // sections that the thread is in, under one mutex
  std::uint64_t count_ = 0;
};

}  // namespace workloads::rms
