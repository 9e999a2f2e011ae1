/* SPDX-License-Identifier: Apache-2.0
 * Algorithm 2 of ale.pml: the fallback, which has a ticket, runs the section in segments and writes back at the end.
 */

inline memory_barrier() {
  empty(store_buffer)
}

/* Lines 10 to 14. */
inline lock_stripe() {
  if
  :: atomic {
       runs_on -> doom_by_store(bit_of_lock(address)); has_written[me] = has_written[me] | bit_of_lock(address);
       locked = locked | bit_of_lock(address)
     }
  :: atomic { in_software -> store_buffer!bit_of_lock(address), turn; locked = locked | bit_of_lock(address) };
     memory_barrier()
  fi
}

/* Lines 12 and 15. */
inline load() {
  if
  :: atomic {
       runs_on -> doom_by_load(bit_of(address)); has_read[me] = has_read[me] | bit_of(address); value = memory[address];
       may_abort()
     }
  :: atomic { in_software -> doom_by_load(bit_of(address)); value = memory[address] }
  fi
}

/* FALLBACK_READ, and what the section does with the value. */
inline fallback_read() {
  if
  :: (log & bit_of(address)) != 0 -> value = value_of(address)
  :: else -> lock_stripe(); load()
  fi;
  atomic {
    if
    :: step < kCall -> seen[address] = value
    :: else -> assert(value == seen[address] + 1)
    fi;
    if
    :: step == kCall - 1 -> decide()
    :: else
    fi
  }
}

/* FALLBACK_WRITE. A store to a frame that will be gone at the commit is direct. */
inline fallback_write() {
  if
  :: address == kCallee -> memory[address] = value_of(address)
  :: else -> log = log | bit_of(address)
  fi
}

/* What a section does between two checkpoints: read 0, read 1, call a function that writes its local variable, write 0,
 * read 0 again, write 1. */
inline operation() {
  address = (step == kCall -> kCallee : (step == 1 || step == 5 -> 1 : 0));
  if
  :: step > kCall && (writes & bit_of(address)) == 0
  :: step < kCall || (step == kReadsAgain && (writes & bit_of(address)) != 0) -> fallback_read()
  :: step == kCall || (step > kCall && step != kReadsAgain && (writes & bit_of(address)) != 0) -> fallback_write()
  fi;
  atomic { address = 0; value = 0; step++ }
}

/* One segment, from one checkpoint to another. An aborted one has left nothing behind. */
inline run_segment() {
  {
    atomic {
      start = step; log_at_start = log;
      if
      :: transaction[me] = kInside
      :: true                                        /* in software */
      fi
    };
    do
    :: step < kEnd -> operation()
    :: step > start -> break
    od;
    if
    :: runs_on ->
       atomic {
         runs_on && empty(store_buffer) -> a = 0;
         do
         :: a == STRIPES -> break
         :: a < STRIPES && (has_written[me] & bit_of_lock(a)) != 0 -> lock_array[a] = turn; a++
         :: a < STRIPES && (has_written[me] & bit_of_lock(a)) == 0 -> a++
         od;
         transaction_ends()
       }
    :: else
    fi
  } unless {
    atomic { is_doomed -> step = start; log = log_at_start; transaction_ends() }
  };
  atomic { start = 0; log_at_start = 0; address = 0; value = 0; a = 0 }
}

/* A write-back in hardware. It ends with committed or without. */
inline write_back_in_hardware() {
  {
    atomic { transaction[me] = kInside; a = 0 };
    do
    :: a == kAddresses -> break
    :: a < kAddresses && (log & bit_of(a)) != 0 ->
       atomic {
         runs_on -> doom_by_store(bit_of(a)); has_written[me] = has_written[me] | bit_of(a); a++;
         may_abort()
       }
    :: a < kAddresses && (log & bit_of(a)) == 0 -> a++
    od;
    atomic { runs_on -> store_all(log); transaction_ends(); committed = true }
  } unless {
    atomic { is_doomed -> transaction_ends() }
  }
}

/* FLUSH under the section lock. */
inline write_back_in_software() {
  d_step { section_lock = 1; doom_by_store(kSectionLock) };
  a = 0;
  do
  :: a == kAddresses -> break
  :: a < kAddresses && (log & bit_of(a)) != 0 -> d_step { doom_by_store(bit_of(a)); memory[a] = value_of(a); a++ }
  :: a < kAddresses && (log & bit_of(a)) == 0 -> a++
  od;
  d_step { section_lock = 0; doom_by_store(kSectionLock) };
  committed = true
}

/* WRITE_BACK: in hardware a few times, or in software. It has its own frame. */
inline write_back() {
  atomic { memory_barrier(); memory[kCallee] = kRuntime };       /* at the latest at a commit */
  write_back_in_hardware();
  if
  :: committed
  :: else -> write_back_in_software()
  fi;
  assert(memory[kCallee] == kRuntime);
  memory[kCallee] = 0
}

inline acquire_fallback_lock() {
  atomic { turn = acquire_counter; acquire_counter++ };
  atomic {
    release_counter == turn -> fallbacks++;
    assert(fallbacks == 1 && turn == served + 1)
  };
  store_buffer!kFallbackLock, turn
}

inline release_all_locks() {
  d_step { served = turn; fallbacks--; locked = 0; fallback_lock = 0; doom_by_store(kFallbackLock) };
  release_counter++
}

/* Algorithm 2. */
inline run_fallback() {
  acquire_fallback_lock();
  do
  :: step < kEnd -> run_segment()
  :: else -> break
  od;
  write_back();
  release_all_locks()
}
