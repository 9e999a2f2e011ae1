/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that want to know how they are run by Elision. Nothing has to be linked: the function is
 * weak, and without the preload library its answer is always no.
 */
#ifndef ELISION_ELISION_H
#define ELISION_ELISION_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Answered by libelision.so: non-zero inside an always-abort transaction, and only there. Such a
 * transaction runs ahead while another thread holds the lock, and nothing that it writes ever becomes
 * visible: so it may leave out what would only end it early (input and output, writes to contended
 * data). In a transaction that may commit (an elided lock) the answer is zero: there every write counts.
 */
extern int elision_library_speculating(void) __asm__("elision_speculating") __attribute__((weak));

static inline int elision_speculating(void) {
  return elision_library_speculating != 0 && elision_library_speculating();
}

#ifdef __cplusplus
}
#endif

#endif
