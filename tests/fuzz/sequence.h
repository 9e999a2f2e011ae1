/* SPDX-License-Identifier: Apache-2.0
   The file that guest_instructions.cc writes and sequence_runner.c executes: records of kRecordBytes, each a
   byte of flags and the code. C and C++. */
#pragma once

enum {
  kRecordBytes = 32,
  kCodeBytes = kRecordBytes - 1,
  kAtPageEnd = 1,     /* the code ends where its page does; else INT3 follows it */
  kInTransaction = 2, /* in the virtual machine alone */
  kVirtualAlone = 4,  /* what it does natively would outlive it, or the CPUs differ */
  kMostRecords = 64
};
