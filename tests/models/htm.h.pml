/* SPDX-License-Identifier: Apache-2.0
 * Hardware transactions as locks see them: strong isolation, requester wins. A file that includes this one has a variable
 * `me` and defines THREADS. Each shared variable has a bit, its place; a read or write set is a set of bits.
 *
 * A transaction's stores are private until its commit, which is one step and cannot fail. A transaction is doomed by
 * another thread's access to its write set or store to its read set; its next step is then the abort. It may also be
 * doomed spuriously at any step.
 */
#define kOutside 0
#define kInside 1
#define kDoomed 2

byte transaction[THREADS];
byte has_read[THREADS], has_written[THREADS];

#define is_doomed (transaction[me] == kDoomed)
#define runs_on (transaction[me] == kInside)

inline doom_if(thread, footprint, place) {
  if
  :: thread != me && transaction[thread] == kInside && ((footprint) & (place)) != 0 ->
     transaction[thread] = kDoomed; has_read[thread] = 0; has_written[thread] = 0
  :: else
  fi
}

/* Part of the step of a load, inside a transaction or not. */
inline doom_by_load(place) {
  d_step {
    doom_if(0, has_written[0], place);
    doom_if(1, has_written[1], place);
#if THREADS > 2
    doom_if(2, has_written[2], place);
#endif
    skip
  }
}

/* Part of the step of a store. */
inline doom_by_store(place) {
  d_step {
    doom_if(0, has_read[0] | has_written[0], place);
    doom_if(1, has_read[1] | has_written[1], place);
#if THREADS > 2
    doom_if(2, has_read[2] | has_written[2], place);
#endif
    skip
  }
}

inline transaction_ends() {
  transaction[me] = kOutside; has_read[me] = 0; has_written[me] = 0
}
