// SPDX-License-Identifier: Apache-2.0
// Lets one build of the library load with any glibc from 2.28 on.
//
// glibc 2.34 moved these functions from libpthread into libc and gave them that version, which the linker of
// a newer system would ask for. Every glibc since keeps the old version for programs built then. So ask for
// that, and name libpthread as needed (src/preload/CMakeLists.txt): since 2.34 it is empty.
//
// Asked of the assembler and not of the linker, so that it holds with every linker. To be included by each
// file that calls one of them. src/preload/check_links.sh fails if something newer slips in.
#pragma once

// What pthread_cleanup_push is made of, today's form and the old one. Another form needs exceptions, and with
// them the C++ library.
asm(".symver __pthread_register_cancel, __pthread_register_cancel@GLIBC_2.3.3");
asm(".symver __pthread_unregister_cancel, __pthread_unregister_cancel@GLIBC_2.3.3");
asm(".symver __pthread_unwind_next, __pthread_unwind_next@GLIBC_2.3.3");
asm(".symver _pthread_cleanup_push, _pthread_cleanup_push@GLIBC_2.2.5");
asm(".symver _pthread_cleanup_pop, _pthread_cleanup_pop@GLIBC_2.2.5");
asm(".symver pthread_setcanceltype, pthread_setcanceltype@GLIBC_2.2.5");
asm(".symver pthread_testcancel, pthread_testcancel@GLIBC_2.2.5");
