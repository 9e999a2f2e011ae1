/* SPDX-License-Identifier: Apache-2.0
 * Algorithm 1 of ale.pml: the fast path, a transaction that logs the stripes that it writes and looks at their locks if a
 * fallback runs. With BEYOND, a `plain` one keeps no log and subscribes to fallback-lock instead; and one with a store
 * that is not logged commits only if no fallback runs.
 */

/* FAST_PATH_READ. */
inline fast_read(address) {
  runs_on -> doom_by_load(bit_of(address)); has_read[me] = has_read[me] | bit_of(address); seen[address] = memory[address]
}

/* FAST_PATH_WRITE of what the section writes at `address`. */
inline fast_write(address) {
  if
  :: (writes & bit_of(address)) != 0 ->
     atomic {
       runs_on -> doom_by_store(bit_of(address)); has_written[me] = has_written[me] | bit_of(address);
       if
       :: plain                                      /* it keeps no log */
       :: !plain -> log = log | bit_of_lock(address)
       :: !plain && BEYOND -> unlogged = true
       fi;
       may_abort()
     }
  :: else
  fi
}

/* Lines 25 to 27. */
inline validate() {
  a = 0;
  do
  :: a == STRIPES -> break
  :: a < STRIPES && (log & bit_of_lock(a)) == 0 -> a++
  :: a < STRIPES && (log & bit_of_lock(a)) != 0 ->
     atomic {
       runs_on -> doom_by_load(bit_of_lock(a)); has_read[me] = has_read[me] | bit_of_lock(a);
       if
       :: lock_array[a] == fallback_lock -> assert((locked & bit_of_lock(a)) != 0); transaction[me] = kDoomed
       :: else -> a++
       fi
     }
  od
}

/* Algorithm 1. It ends with committed or without. */
inline run_fast() {
  {
    atomic {
      transaction[me] = kInside; has_read[me] = kSectionLock;
      if
      :: plain -> has_read[me] = has_read[me] | kFallbackLock
      :: else
      fi;
      if
      :: section_lock != 0 || (plain && fallback_lock != 0) -> transaction[me] = kDoomed
      :: else
      fi
    };
    atomic { fast_read(0); may_abort() };
    atomic { fast_read(1); decide() };
    fast_write(0);
    fast_write(1);
    if
    :: log == 0 && !unlogged                         /* it has only read, or is plain */
    :: else ->
       atomic {
         runs_on -> has_read[me] = has_read[me] | kFallbackLock; beside = (fallback_lock != 0);
         if
         :: beside && unlogged -> transaction[me] = kDoomed
         :: else
         fi
       };
       if
       :: beside -> validate()
       :: else
       fi
    fi;
committing:
    atomic { runs_on -> store_all(writes); transaction_ends(); committed = true }
  } unless {
    atomic { is_doomed -> writes = 0; transaction_ends() }
  };
  atomic { seen[0] = 0; seen[1] = 0; log = 0; unlogged = false; beside = false; a = 0 }
}
