// SPDX-License-Identifier: Apache-2.0
// A snapshot: a process that has run up to some point and then only forks. Each copy is a run of its own with
// other options (seed, region, statistics, lock design). What lies in front of the point is executed once.
//
// The process listens on a socket. `elision vm --from-snapshot` connects, sends its options and its standard
// descriptors, and waits: for the news that its copy runs, and then for the copy's wait status; or for the
// reason why there will be no copy. If it goes away, its copy is killed. Connections wait until the snapshot
// is there; if its process ends before, they break.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "vm/interface/options.h"
#include "vm/interface/signal_types.h"
#include "vm/linux/load/hand_over.h"

namespace elision::vm {

/// What a copy is to do.
struct CopyRequest {
  HandOver run;
  int standard[3] = {-1, -1, -1};  // its standard input, output and error
};

class SnapshotServer {
 public:
  /// Listens at `path`, which no file may have. Throws std::runtime_error.
  explicit SnapshotServer(std::string path);
  ~SnapshotServer();
  SnapshotServer(const SnapshotServer&) = delete;
  SnapshotServer& operator=(const SnapshotServer&) = delete;

  /// Removes the file at the path.
  void forget_path() const;

  /// Forks a copy for each request; returns only in the copies. `why_not`: why a request is refused, in words
  /// that follow "no snapshot: "; empty: it is not. Ends with the process: by SIGINT, SIGTERM, SIGHUP,
  /// SIGQUIT.
  template <class WhyNot>
  CopyRequest serve(const WhyNot& why_not) {
    for (;;)
      if (std::optional<CopyRequest> request = next_request()) {
        const std::string why = why_not(request->run);
        if (why.empty() ? fork_copy(*request) : refuse(*request, why)) return std::move(*request);
      }
  }

 private:
  std::optional<CopyRequest> next_request();
  bool fork_copy(CopyRequest& request);
  bool refuse(CopyRequest& request, const std::string& why);
  void answer_ended();
  void take_signals();

  std::string path_;
  int listener_ = -1;
  int signals_ = -1;
  int client_ = -1;               // of the request in hand
  std::map<pid_t, int> clients_;  // of each copy
  SignalSet mask_{};              // of the process, before it served
};

/// Asks the snapshot at `path` to do `run` in a copy, with the standard descriptors of this process. Waits
/// for the copy's end and returns its wait status; that of SIGKILL if the snapshot ended meanwhile. Returns
/// nothing if the snapshot makes no copy; `why` then says the reason.
std::optional<int> run_copy(const std::string& path, const HandOver& run, std::string& why);

}  // namespace elision::vm
