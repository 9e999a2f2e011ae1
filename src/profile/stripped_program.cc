// SPDX-License-Identifier: Apache-2.0
// What names_test names: code, which is linked without symbols.
int main() { return 0; }
