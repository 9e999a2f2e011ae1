/* SPDX-License-Identifier: Apache-2.0
 * What the whole-program test compiles: enough for the optimiser to have something to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *left, *right;
  int key;
};

static struct node *insert(struct node *tree, int key) {
  if (tree == NULL) {
    tree = calloc(1, sizeof *tree);
    tree->key = key;
  } else if (key < tree->key) {
    tree->left = insert(tree->left, key);
  } else {
    tree->right = insert(tree->right, key);
  }
  return tree;
}

static int depth(const struct node *tree) {
  if (tree == NULL) return 0;
  const int left = depth(tree->left), right = depth(tree->right);
  return 1 + (left > right ? left : right);
}

int main(void) {
  struct node *tree = NULL;
  unsigned state = 1;
  for (int i = 0; i < 2000; ++i) {
    state = state * 1664525u + 1013904223u;
    tree = insert(tree, (int)(state >> 8));
  }
  double sum = 0;
  for (int i = 1; i < 100; ++i) sum += 1.0 / i;
  printf("%d %.15f %zu\n", depth(tree), sum, strlen("text"));
  return 0;
}
