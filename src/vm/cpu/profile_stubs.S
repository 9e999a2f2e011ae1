// SPDX-License-Identifier: Apache-2.0
// The stubs of stubs.S with time stamps, for runs with --profile (profile.h). They call the functions of
// profile.cc, which call and time the helpers.

#define ELISION_TIMED
#define elision_enter              elision_timed_enter
#define elision_stub_slow_access   elision_timed_stub_slow_access
#define elision_stub_budget        elision_timed_stub_budget
#define elision_stub_string        elision_timed_stub_string
#define elision_stub_exit          elision_timed_stub_exit
#define elision_stub_fetch         elision_timed_stub_fetch
#define elision_stub_branch        elision_untimed_stub_branch  // part of translated code
#define elision_stub_record_branch elision_untimed_stub_record_branch
#define elision_fetch              elision_timed_fetch
#define elision_late_load          elision_timed_late_load
#define elision_slow_access        elision_timed_slow_access
#define elision_budget_exhausted   elision_timed_budget_exhausted
#define elision_string_step        elision_timed_string_step

#include "vm/cpu/stubs.S"
