// SPDX-License-Identifier: Apache-2.0
// Flags that pass through a jump to a call, in a program in which nothing before shows that flags outlive calls: linked
// statically, since the dynamic linker would.
#include <stdio.h>

long jumps_to_call(long a, long b);
__asm__(
    ".text\n"
    "leaves_flags:\n"
    "  movq $0, -8(%rsp)\n"
    "  ret\n"
    "jumps_to_call:\n"
    "  cmp %rsi, %rdi\n"
    "  mov -16(%rsp), %rax\n"
    "  jmp 1f\n"
    "1: call leaves_flags\n"
    "  mov $1, %eax\n"
    "  jb 2f\n"
    "  mov $2, %eax\n"
    "2: ret\n");

int main(void) {
  const long below = jumps_to_call(4, 5);
  printf("%ld %ld\n", below, jumps_to_call(5, 5));
  return 0;
}
