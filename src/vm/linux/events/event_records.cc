// SPDX-License-Identifier: Apache-2.0
// Records in the ring buffers of events: samples, and what they refer to. Layouts: perf_event_open(2).
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>

#include "vm/host/guest_memory.h"
#include "vm/interface/guest_layout.h"
#include "vm/linux/events/event_attributes.h"
#include "vm/linux/events/event_branches.h"
#include "vm/linux/events/process_events.h"
#include "vm/linux/process/clocks.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kUserCodeSegment = 0x33, kUserStackSegment = 0x2b;
/// The largest record: its header has 16 bits for the size, which is a multiple of 8.
constexpr std::uint64_t kMostRecordBytes = 0xffff / sizeof(std::uint64_t) * sizeof(std::uint64_t);
constexpr std::uint16_t kByExec = PERF_RECORD_MISC_COMM_EXEC, kOfData = PERF_RECORD_MISC_MMAP_DATA;

template <class T>
void put(std::vector<char>& record, const T& value) {
  const auto* const bytes = reinterpret_cast<const char*>(&value);
  record.insert(record.end(), bytes, bytes + sizeof value);
}
void put_word(std::vector<char>& record, std::uint64_t value) { put(record, value); }
void put_pair(std::vector<char>& record, int first, int second) {
  put(record, static_cast<std::uint32_t>(first));
  put(record, static_cast<std::uint32_t>(second));
}
/// With its end, up to the next word.
void put_text(std::vector<char>& record, const std::string& text) {
  record.insert(record.end(), text.begin(), text.end());
  record.resize(record.size() + sizeof(std::uint64_t) - text.size() % sizeof(std::uint64_t), '\0');
}

std::vector<char> begin_record(std::uint32_t type, std::uint16_t flags) {
  std::vector<char> record;
  put(record, perf_event_header{type, flags, 0});
  return record;
}
void end_record(std::vector<char>& record) {
  const auto size = static_cast<std::uint16_t>(record.size());
  std::memcpy(record.data() + offsetof(perf_event_header, size), &size, sizeof size);
}

/// Registers in the order of arch/x86/include/uapi/asm/perf_regs.h.
std::vector<std::uint64_t> registers(const GuestState& state, std::uint64_t mask) {
  const std::uint64_t all[] = {state.gpr[kRax],
                               state.gpr[kRbx],
                               state.gpr[kRcx],
                               state.gpr[kRdx],
                               state.gpr[kRsi],
                               state.gpr[kRdi],
                               state.gpr[kRbp],
                               state.gpr[kRsp],
                               state.rip,
                               state.rflags,
                               kUserCodeSegment,
                               kUserStackSegment,
                               0,
                               0,
                               0,
                               0,
                               state.gpr[kR8],
                               state.gpr[kR9],
                               state.gpr[kR10],
                               state.gpr[kR11],
                               state.gpr[kR12],
                               state.gpr[kR13],
                               state.gpr[kR14],
                               state.gpr[kR15]};
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < std::size(all); ++i)
    if ((mask >> i & 1) != 0) chosen.push_back(all[i]);
  return chosen;
}

void put_registers(std::vector<char>& record, const GuestState& state, std::uint64_t mask) {
  put_word(record, PERF_SAMPLE_REGS_ABI_64);
  for (const std::uint64_t value : registers(state, mask)) put_word(record, value);
}

/// By frame pointers, as Linux does.
std::vector<std::uint64_t> call_chain(const GuestState& state, std::uint64_t most) {
  struct Frame {
    std::uint64_t next, return_address;
  };
  std::vector<std::uint64_t> chain{static_cast<std::uint64_t>(PERF_CONTEXT_USER), state.rip};
  std::uint64_t at = state.gpr[kRbp];
  while (chain.size() < most + 1 && at % sizeof(std::uint64_t) == 0 && at >= state.gpr[kRsp] &&
         at < kUserAddressEnd) {
    const auto frame = load_guest<Frame>(at);
    if (!frame || frame->return_address == 0) break;
    chain.push_back(frame->return_address);
    if (frame->next <= at) break;
    at = frame->next;
  }
  return chain;
}

/// Bytes of the stack to copy behind `before` bytes of a record and in front of `after`. Linux shortens the
/// stack, too, where the record would be too large.
std::uint64_t stack_bytes(std::uint64_t wanted, std::uint64_t before, std::uint64_t after) {
  const std::uint64_t others = before + after + 2 * sizeof(std::uint64_t);
  return others < kMostRecordBytes ? std::min(wanted, kMostRecordBytes - others) : 0;
}

/// The top of the stack: as much as is there, then room up to the size.
void put_stack(std::vector<char>& record, std::uint64_t stack_pointer, std::uint64_t size) {
  std::vector<char> bytes(size);
  std::uint64_t read = 0;
  while (read < size) {
    const std::uint64_t at = stack_pointer + read;
    const std::uint64_t part = std::min(size - read, page_up(at + 1) - at);
    if (!copy_from_guest(bytes.data() + read, at, part)) break;
    read += part;
  }
  put_word(record, size);
  record.insert(record.end(), bytes.begin(), bytes.end());
  if (size != 0) put_word(record, read);
}

/// PERF_TXN_ flags of an abort. What the transaction's own instruction causes is synchronous.
std::uint64_t transaction_flags(const AbortRecord& abort) {
  using enum machine::HardwareAbort;
  constexpr std::uint32_t kExplicitBit = 1, kRetryBit = 2;
  constexpr unsigned kImmediateShift = 24;
  std::uint64_t flags = PERF_TXN_TRANSACTION;
  switch (abort.cause) {
    case kConflict:
      flags |= PERF_TXN_ASYNC | PERF_TXN_CONFLICT;
      break;
    case kCapacity:
      flags |= PERF_TXN_ASYNC | PERF_TXN_CAPACITY_WRITE;
      break;
    case kInterrupt:
    case kSpurious:
      flags |= PERF_TXN_ASYNC;
      break;
    default:
      flags |= PERF_TXN_SYNC;
  }
  if ((abort.status & kRetryBit) != 0) flags |= PERF_TXN_RETRY;
  if ((abort.status & kExplicitBit) != 0)
    flags |= std::uint64_t{abort.status >> kImmediateShift} << PERF_TXN_ABORT_SHIFT;
  return flags;
}

/// Only what a recorded access did is known.
std::uint64_t data_source(EventKind kind, bool is_recorded) {
  const std::uint64_t operation = !is_recorded                 ? PERF_MEM_S(OP, NA)
                                  : kind == EventKind::kStores ? PERF_MEM_S(OP, STORE)
                                                               : PERF_MEM_S(OP, LOAD);
  return operation | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) | PERF_MEM_S(LOCK, NA) | PERF_MEM_S(TLB, NA);
}

/// The access that ended the period of an event of accesses. Null if the event is another one, is not
/// precise, or the thread left its CPU before the interrupt.
const AccessRecord* recorded_access(const EventSlot& slot, const CountInterrupt& interrupt) {
  const std::uint32_t kind = counted_access(slot.kind);
  if (kind == 0 || slot.attr.precise_ip == 0) return nullptr;
  const auto& access = interrupt.accesses[kind == kCountedStore ? 1 : 0];
  return access ? &*access : nullptr;
}

/// The fields of a sample that follow the stack. `abort`: null if it is no sample of an abort.
std::vector<char> fields_behind_stack(const EventSlot& slot, const GuestState& state,
                                      const AbortRecord* abort, const AccessRecord* access) {
  const perf_event_attr& attr = slot.attr;
  std::vector<char> fields;
  const auto wants = [&](std::uint64_t bit) { return (attr.sample_type & bit) != 0; };
  if (wants(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
    put_word(fields, abort != nullptr ? abort->cycles : 0);
  if (wants(PERF_SAMPLE_DATA_SRC)) put_word(fields, data_source(slot.kind, access != nullptr));
  if (wants(PERF_SAMPLE_TRANSACTION)) put_word(fields, abort != nullptr ? transaction_flags(*abort) : 0);
  if (wants(PERF_SAMPLE_REGS_INTR)) put_registers(fields, state, attr.sample_regs_intr);
  return fields;
}

struct MappingLine {
  std::uint64_t begin = 0, end = 0, offset = 0, inode = 0;
  unsigned major = 0, minor = 0;
  std::string permissions, path;
};

/// The lines of a memory map (/proc/self/maps) that meet [begin, end).
std::vector<MappingLine> mapping_lines(const std::string& map, std::uint64_t begin, std::uint64_t end) {
  std::vector<MappingLine> lines;
  std::istringstream text(map);
  for (std::string line; std::getline(text, line);) {
    MappingLine mapping;
    unsigned long long from = 0, to = 0, offset = 0, inode = 0;
    char permissions[8] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %x:%x %llu %n", &from, &to, permissions, &offset,
                    &mapping.major, &mapping.minor, &inode, &path) < 7)
      continue;
    mapping.begin = from, mapping.end = to, mapping.offset = offset, mapping.inode = inode;
    mapping.permissions = permissions;
    mapping.path =
        static_cast<std::size_t>(path) < line.size() ? line.substr(static_cast<std::size_t>(path)) : "//anon";
    if (mapping.begin < end && mapping.end > begin) lines.push_back(std::move(mapping));
  }
  return lines;
}

std::vector<char> mapping_record(const MappingLine& mapping, bool second_form, int pid, int tid) {
  const bool is_code = mapping.permissions.find('x') != std::string::npos;
  std::vector<char> record =
      begin_record(second_form ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP,
                   static_cast<std::uint16_t>(PERF_RECORD_MISC_USER | (is_code ? 0 : kOfData)));
  put_pair(record, pid, tid);
  put_word(record, mapping.begin);
  put_word(record, mapping.end - mapping.begin);
  put_word(record, mapping.offset);
  if (second_form) {
    put_pair(record, static_cast<int>(mapping.major), static_cast<int>(mapping.minor));
    put_word(record, mapping.inode);
    put_word(record, 0);  // its generation
    int protection = 0;
    for (const auto& [letter, bit] : {std::pair{'r', PROT_READ}, {'w', PROT_WRITE}, {'x', PROT_EXEC}})
      if (mapping.permissions.find(letter) != std::string::npos) protection |= bit;
    put_pair(record, protection,
             mapping.permissions.find('s') != std::string::npos ? MAP_SHARED : MAP_PRIVATE);
  }
  put_text(record, mapping.path);
  return record;
}

/// Holds the lock of a ring. A process that was killed while it held the lock leaves it; the next one goes on
/// after a while.
class RingLock {
 public:
  explicit RingLock(std::atomic<int>& lock) : lock_(lock) {
    constexpr int kPatience = 1 << 24;
    for (int i = 0; i < kPatience && lock_.exchange(1, std::memory_order_acquire) != 0; ++i)
      __builtin_ia32_pause();
  }
  ~RingLock() { lock_.store(0, std::memory_order_release); }
  RingLock(const RingLock&) = delete;
  RingLock& operator=(const RingLock&) = delete;

 private:
  std::atomic<int>& lock_;
};

void copy_around(char* data, std::uint64_t size, std::uint64_t at, const std::vector<char>& record) {
  const std::uint64_t offset = at % size, first = std::min<std::uint64_t>(record.size(), size - offset);
  std::memcpy(data + offset, record.data(), first);
  std::memcpy(data, record.data() + first, record.size() - first);
}

}  // namespace

/// The ring of the event, in this process's own view; null: it is not mapped.
ProcessEvents::MappedRing* ProcessEvents::ring_of(int slot) {
  EventSlot& event = board[slot];
  if (!event.ring_mapped || event.ring_pages == 0) return nullptr;
  MappedRing& ring = rings_[slot];
  if (ring.id == event.id) return &ring;
  if (ring.memory != nullptr) munmap(ring.memory, ring.bytes);
  ring = {};
  const std::uint64_t bytes = (event.ring_pages + 1) * kPageBytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, board.descriptor(),
                            static_cast<off_t>(EventBoard::ring_offset(slot)));
  if (memory == MAP_FAILED) return nullptr;  // the next record tries again
  ring = {event.id, bytes, static_cast<char*>(memory)};
  return &ring;
}

/// Writes the record for `slot`, and one that reports losses before it. Returns whether readers are to be
/// woken.
bool ProcessEvents::write(int slot, KernelThread& thread, std::vector<char> record) {
  EventSlot& event = board[slot];
  const int output = event.output;
  EventSlot& owner = board[output];
  MappedRing* const ring = owner.id == event.output_id ? ring_of(output) : nullptr;
  if (ring == nullptr) return false;
  end_record(record);
  const RingLock lock(owner.ring_lock);
  auto* const page = reinterpret_cast<perf_event_mmap_page*>(ring->memory);
  char* const data = ring->memory + kPageBytes;
  const std::uint64_t size = ring->bytes - kPageBytes;
  if (owner.lost_before != 0) {
    std::vector<char> lost = begin_record(PERF_RECORD_LOST, 0);
    put_word(lost, event.id);
    put_word(lost, owner.lost_before);
    add_sample_id(lost, event, thread, process_.ids.pid(), thread.thread.tid);
    end_record(lost);
    record.insert(record.begin(), lost.begin(), lost.end());
  }
  const std::uint64_t head = page->data_head;
  const std::uint64_t tail = __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
  const std::uint64_t used = owner.ring_overwrites ? 0 : head - tail;
  if (used > size || record.size() >= size - used) {
    ++owner.lost_before;
    ++event.lost;
    return false;
  }
  owner.lost_before = 0;
  copy_around(data, size, head, record);
  const std::uint64_t end = head + record.size();
  __atomic_store_n(&page->data_head, end, __ATOMIC_RELEASE);
  const std::uint64_t asked = owner.attr.watermark ? owner.attr.wakeup_watermark : 0;
  const std::uint64_t mark = asked == 0 ? size / 2 : std::min(size, asked);
  bool wakes = end - owner.wakeup_at > mark;
  if (wakes) owner.wakeup_at = end;
  if (!event.attr.watermark && event.attr.wakeup_events != 0 &&
      ++owner.events_to_wake >= event.attr.wakeup_events) {
    owner.events_to_wake = 0;
    wakes = true;
  }
  return wakes;
}

std::uint64_t ProcessEvents::time_of(const EventSlot& slot, KernelThread& thread) {
  const int clock = slot.attr.use_clockid ? slot.attr.clockid : CLOCK_MONOTONIC;
  return read_clock(process_, thread, clock).value_or(0);
}

/// What attr.sample_id_all puts behind records that are no samples.
void ProcessEvents::add_sample_id(std::vector<char>& record, const EventSlot& slot, KernelThread& thread,
                                  int pid, int tid) {
  if (!slot.attr.sample_id_all) return;
  const std::uint64_t wanted = slot.attr.sample_type;
  if ((wanted & PERF_SAMPLE_TID) != 0) put_pair(record, pid, tid);
  if ((wanted & PERF_SAMPLE_TIME) != 0) put_word(record, time_of(slot, thread));
  if ((wanted & PERF_SAMPLE_ID) != 0) put_word(record, slot.id);
  if ((wanted & PERF_SAMPLE_STREAM_ID) != 0) put_word(record, slot.id);
  if ((wanted & PERF_SAMPLE_CPU) != 0) put_word(record, process_.services.cpu_of(thread.thread));
  if ((wanted & PERF_SAMPLE_IDENTIFIER) != 0) put_word(record, slot.id);
}

std::vector<char> ProcessEvents::sample(const Overflow& overflow) {
  const EventSlot& slot = board[overflow.slot];
  const perf_event_attr& attr = slot.attr;
  KernelThread& thread = overflow.thread;
  const GuestState& state = thread.thread.state;
  const AbortRecord* const abort =
      counts_aborts(slot.kind) && overflow.interrupt.abort ? &*overflow.interrupt.abort : nullptr;
  const AccessRecord* const access = recorded_access(slot, overflow.interrupt);
  std::uint64_t pc = state.rip;
  if (abort != nullptr && attr.precise_ip > 1) pc = abort->pc;
  if (abort == nullptr && attr.precise_ip > 0) pc = overflow.interrupt.pc;
  if (access != nullptr) pc = access->pc;
  const bool is_exact = attr.precise_ip > 0 && (access != nullptr || counted_access(slot.kind) == 0);
  const auto precise = static_cast<std::uint16_t>(is_exact ? PERF_RECORD_MISC_EXACT_IP : 0);
  std::vector<char> record =
      begin_record(PERF_RECORD_SAMPLE, static_cast<std::uint16_t>(PERF_RECORD_MISC_USER | precise));
  const auto wants = [&](std::uint64_t bit) { return (attr.sample_type & bit) != 0; };
  if (wants(PERF_SAMPLE_IDENTIFIER)) put_word(record, slot.id);
  if (wants(PERF_SAMPLE_IP)) put_word(record, pc);
  if (wants(PERF_SAMPLE_TID)) put_pair(record, process_.ids.pid(), thread.thread.tid);
  if (wants(PERF_SAMPLE_TIME)) put_word(record, time_of(slot, thread));
  if (wants(PERF_SAMPLE_ADDR)) put_word(record, access != nullptr ? access->address : 0);
  if (wants(PERF_SAMPLE_ID)) put_word(record, slot.id);
  if (wants(PERF_SAMPLE_STREAM_ID)) put_word(record, slot.id);
  if (wants(PERF_SAMPLE_CPU)) put_word(record, process_.services.cpu_of(thread.thread));
  if (wants(PERF_SAMPLE_PERIOD)) put_word(record, overflow.period);
  if (wants(PERF_SAMPLE_READ))
    for (const std::uint64_t value : values(overflow.slot)) put_word(record, value);
  if (wants(PERF_SAMPLE_CALLCHAIN)) {
    const std::uint64_t most = attr.sample_max_stack != 0 ? attr.sample_max_stack : kMostStackEntries;
    const auto chain = attr.exclude_callchain_user ? std::vector<std::uint64_t>() : call_chain(state, most);
    put_word(record, chain.size());
    for (const std::uint64_t entry : chain) put_word(record, entry);
  }
  if (wants(PERF_SAMPLE_RAW)) put_pair(record, sizeof(std::uint32_t), 0);
  if (wants(PERF_SAMPLE_BRANCH_STACK))
    for (const std::uint64_t word :
         branch_stack(attr, overflow.interrupt.branches, branch_depth(process_.identity)))
      put_word(record, word);
  if (wants(PERF_SAMPLE_REGS_USER)) put_registers(record, state, attr.sample_regs_user);
  const std::vector<char> rest = fields_behind_stack(slot, state, abort, access);
  if (wants(PERF_SAMPLE_STACK_USER))
    put_stack(record, state.gpr[kRsp], stack_bytes(attr.sample_stack_user, record.size(), rest.size()));
  record.insert(record.end(), rest.begin(), rest.end());
  return record;
}

/// Writes a record for each enabled event of the thread that wants it.
template <class Wants, class Make>
void ProcessEvents::note(KernelThread& self, Wants wants, Make make) {
  const auto found = threads_.find(&self);
  if (found == threads_.end()) return;
  const unsigned cpu = process_.services.cpu_of(self.thread);
  for (const Counter& counter : found->second.counters) {
    EventSlot& slot = board[counter.slot];
    if (!is_current(counter) || !is_effective(slot) || !wants(slot)) continue;
    if (slot.cpu >= 0 && static_cast<unsigned>(slot.cpu) != cpu) continue;
    if (write(counter.slot, self, make(slot))) wake(counter.slot);
  }
}

void ProcessEvents::note_name(KernelThread& self, bool by_exec) {
  const int pid = process_.ids.pid(), tid = self.thread.tid;
  note(
      self, [](const EventSlot& slot) { return slot.attr.comm != 0; },
      [&](const EventSlot& slot) {
        std::vector<char> record =
            begin_record(PERF_RECORD_COMM, by_exec && slot.attr.comm_exec ? kByExec : 0);
        put_pair(record, pid, tid);
        put_text(record, self.name);
        add_sample_id(record, slot, self, pid, tid);
        return record;
      });
}

void ProcessEvents::note_mapping(KernelThread& self, std::uint64_t address, std::uint64_t size) {
  const auto found = threads_.find(&self);
  if (found == threads_.end()) return;
  const bool is_wanted = std::ranges::any_of(found->second.counters, [&](const Counter& counter) {
    const perf_event_attr& attr = board[counter.slot].attr;
    return attr.mmap || attr.mmap2 || attr.mmap_data;
  });
  if (!is_wanted) return;
  const int pid = process_.ids.pid(), tid = self.thread.tid;
  const std::uint64_t end = size > ~address ? ~std::uint64_t{0} : address + size;
  for (const MappingLine& mapping : mapping_lines(process_.memory.describe(), address, end)) {
    const bool is_code = mapping.permissions.find('x') != std::string::npos;
    note(
        self,
        [&](const EventSlot& slot) {
          return is_code ? slot.attr.mmap != 0 || slot.attr.mmap2 != 0 : slot.attr.mmap_data != 0;
        },
        [&](const EventSlot& slot) {
          std::vector<char> record = mapping_record(mapping, slot.attr.mmap2, pid, tid);
          add_sample_id(record, slot, self, pid, tid);
          return record;
        });
  }
}

void ProcessEvents::note_task(KernelThread& self, bool begins, int pid, int parent_pid, int tid,
                              int parent_tid) {
  note(
      self,
      [](const EventSlot& slot) {
        return slot.attr.task || slot.attr.comm || slot.attr.mmap || slot.attr.mmap2;
      },
      [&](const EventSlot& slot) {
        std::vector<char> record = begin_record(begins ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
        put_pair(record, pid, parent_pid);
        put_pair(record, tid, parent_tid);
        put_word(record, time_of(slot, self));
        add_sample_id(record, slot, self, process_.ids.pid(), self.thread.tid);
        return record;
      });
}

}  // namespace elision::vm
