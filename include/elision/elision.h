/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that want to know how they are run by Elision. Nothing has to be linked: the preload
 * library answers if it is there, and without it the answer is always no. C and C++, GCC and Clang,
 * x86-64 Linux.
 */
#ifndef ELISION_ELISION_H
#define ELISION_ELISION_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Non-zero inside an always-abort transaction, and only there. Such a transaction runs ahead while
 * another thread holds the lock, and nothing that it writes ever becomes visible: so it may leave out
 * what would only end it early (input and output, writes to contended data). In a transaction that may
 * commit (an elided lock) the answer is zero: there every write counts.
 *
 * The library's function is found through the global offset table: an ordinary weak reference would be
 * settled as "not there" when a position-dependent program is linked.
 */
static inline int elision_speculating(void) __asm__("elision_speculating_in_program");
static inline int elision_speculating(void) {
  int (*library)(void);
  __asm__(".weak elision_speculating\n\tmovq elision_speculating@GOTPCREL(%%rip), %0" : "=r"(library));
  return library != 0 && library();
}

#ifdef __cplusplus
}
#endif

#endif
