/* SPDX-License-Identifier: Apache-2.0
 * Hardware transactions as locks see them: strong isolation, requester wins. Whoever includes this has `me` among its
 * variables and defines THREADS. What is shared has a bit each, its place: a footprint is a set of them.
 *
 * A transaction's stores stay with it until its commit, one step that cannot fail. Another thread's access to what the
 * transaction has written, or store to what it has read, dooms it: it takes no further step but its abort. It may also be
 * doomed for no reason, at any step.
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

/* Belongs to the step of a load, inside of a transaction or not. */
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

/* Belongs to the step of a store. */
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
