// SPDX-License-Identifier: Apache-2.0
// Lets one build of the library load with any glibc from 2.28 on.
//
// glibc 2.34 moved these functions from libpthread into libc, with a new version that a newer system's linker
// would ask for. Every later glibc keeps the old version for older programs. So we ask for the old one, and
// name libpthread as needed (src/preload/CMakeLists.txt); since 2.34 it is empty.
//
// The assembler does this, so that it works with every linker. Each file that calls one of the functions
// includes this one. src/preload/check_links.sh fails if a newer version slips in.
#pragma once

// The functions behind pthread_cleanup_push, in today's form and the old one. The third form needs
// exceptions, and so the C++ library.
asm(".symver __pthread_register_cancel, __pthread_register_cancel@GLIBC_2.3.3");
asm(".symver __pthread_unregister_cancel, __pthread_unregister_cancel@GLIBC_2.3.3");
asm(".symver __pthread_unwind_next, __pthread_unwind_next@GLIBC_2.3.3");
asm(".symver _pthread_cleanup_push, _pthread_cleanup_push@GLIBC_2.2.5");
asm(".symver _pthread_cleanup_pop, _pthread_cleanup_pop@GLIBC_2.2.5");
asm(".symver pthread_setcanceltype, pthread_setcanceltype@GLIBC_2.2.5");
asm(".symver pthread_testcancel, pthread_testcancel@GLIBC_2.2.5");
