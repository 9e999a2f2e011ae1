// SPDX-License-Identifier: Apache-2.0
// For names_test.cc: a compilation unit without a range in .debug_aranges, between others that have theirs.
int in_unit_without_range();
int in_unit_without_range() { return __LINE__; }
