// SPDX-License-Identifier: Apache-2.0
// A program that is linked with a libitm of another version.
void _ITM_beginTransaction(void);
int main(void) { _ITM_beginTransaction(); }
