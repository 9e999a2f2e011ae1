// SPDX-License-Identifier: Apache-2.0
// Hardware transactions: begin, commit, abort, membership in read and write sets, and whom an access aborts.
#pragma once

#include "machine/core_caches.h"

namespace elision::machine {

class Transactions : public CoreCaches {
 public:
  using CoreCaches::CoreCaches;

  // As Model has them.
  Cycles begin(Cpu& cpu, Cycles now, bool always_abort);
  Cycles begin_commit(Cpu& cpu, Cycles now);
  Cycles hold_written_lines(Cpu& cpu);
  void finish_commit(Cpu& cpu);
  Cycles begin_of_work(Cpu& cpu, Cycles now) const;
  void end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now);

  /// Ends the transaction of `cpu`. The cost is the caller's.
  void abort_own(Cpu& cpu, HardwareAbort cause, Cycles now);
  Cycles abort_cost();

 protected:
  /// Whatever line of its sets another CPU takes, the transaction of `cpu` ends.
  bool every_conflict_ends(const Cpu& cpu) const {
    return conflicts_end(cpu) &&
           (!cpu.transaction.always_abort || description.always_abort.detects_write_conflicts);
  }
  /// A write of another CPU to a line that it has read ends the transaction of `cpu`.
  bool conflicts_end(const Cpu& cpu) const {
    return cpu.transaction.active && description.conflict_detection &&
           (!cpu.transaction.always_abort || description.always_abort.detects_read_conflicts);
  }
  /// True if the access conflicts with a transaction on another core. `entry`: its directory entry, or
  /// kNoSlot.
  bool conflicts_with_other_core(const Request& request, const Cpu& cpu, std::uint32_t entry) const;
  /// Whether the access takes the line from all others: a store, an atomic, or a load of a line that another
  /// core has modified, if the machine's loads take such lines.
  bool takes_line(const Request& request, const Cpu& cpu, std::uint32_t entry) const;
  /// Aborts every other transaction that this access conflicts with: the requester wins.
  void resolve_conflicts(const Request& request, std::uint32_t entry, bool takes);
  /// Aborts every other transaction whose read filter may have the line that is taken.
  void resolve_false_conflicts(const Request& request);

  /// Puts a line, in L1 slot `slot`, into the running transaction's read or write set. True if this is its
  /// first write there. `entry` is its directory entry, or kNoSlot if that was not looked up.
  bool join_sets(Cpu& cpu, LineAddr line, std::uint32_t slot, std::uint32_t entry, bool write);

  /// An empty L1 slot for the requested line. kNoSlot if the slot to be emptied holds a line that the
  /// requester's own transaction needs; then nothing has changed but the clock hand.
  std::uint32_t make_room_in_l1(const Request& request, Cpu& cpu);
  /// Ends the transactions of others that need the directory entry. False, before anything has changed, if
  /// the requester's own transaction needs it.
  bool end_transactions_of_evicted(const Request& request, Cpu& cpu, std::uint32_t entry);
  void note_first_line(Cpu& cpu, LineAddr line, Cycles now, bool write);
  /// Sends an early request, unless `cpu` has one for the line already or has as many as it can.
  void request_early(Cpu& cpu, const EarlyRequest& request);
  /// The reply to an access that found no room: it aborts the requester's own transaction.
  Reply aborted_by(const Request& request, Cpu& cpu, HardwareAbort cause);

 private:
  void hold_lines_of_aborted(Cpu& victim, LineAddr taken, Cycles until);
  void leave_request_on_its_way(Cpu& cpu, Cycles now);
  void abort_other(Cpu& victim, HardwareAbort cause, LineAddr line, const Request& request);
  LineAddr conflicting_line(const Cpu& cpu, LineAddr first, LineAddr last, bool write) const;
  void end_transaction(Cpu& cpu, bool aborted);
  void drop_aborted_line(Cpu& cpu, std::uint32_t slot);
  bool detects_conflict(const Cpu& cpu, const ReadWriteSets& sets, bool takes) const;
  void leave_sets(Cpu& cpu, ReadWriteSets& sets);
  void lose_write(Cpu& cpu, ReadWriteSets& sets, bool takes);
  bool aborts_on_eviction_of_read_line(const Cpu& cpu, ReadEviction level) const;
  bool end_transactions_of_victim(const Request& request, Cpu& cpu, std::uint32_t slot);
  void note_read_lines(Core& core, LineAddr line, std::uint16_t flags);
};

}  // namespace elision::machine
