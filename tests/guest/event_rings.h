// SPDX-License-Identifier: Apache-2.0
// Ring buffers of events, for the programs that test samples.
#pragma once
#include <stdlib.h>
#include <sys/mman.h>

#include "event_rules.h"

enum { kPage = 4096, kDataPages = 8 };

struct ring {
  int event;
  struct perf_event_mmap_page* page;
  char* data;
  uint64_t size;
};

static inline struct ring map_ring(int event, int data_pages) {
  struct ring ring = {event, NULL, NULL, (uint64_t)data_pages * kPage};
  void* const memory =
      mmap(NULL, (size_t)(1 + data_pages) * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (memory == MAP_FAILED) {
    printf("no ring: %s\n", strerror(errno));
    exit(2);
  }
  ring.page = memory;
  ring.data = (char*)memory + ring.page->data_offset;
  EXPECT_EQUAL(ring.page->data_size, ring.size);
  return ring;
}

static inline void unmap(struct ring* ring) {
  munmap(ring->page, kPage + ring->size);
  close(ring->event);
}

/// Copies the next record and returns its type, or returns 0 if the ring is empty.
static __attribute__((noinline, unused)) int next_record(struct ring* ring, char* record) {
  const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = ring->page->data_tail;
  if (tail == head) return 0;
  for (unsigned i = 0; i < 8; ++i) record[i] = ring->data[(tail + i) % ring->size];
  const unsigned size = ((struct perf_event_header*)record)->size;
  for (unsigned i = 8; i < size; ++i) record[i] = ring->data[(tail + i) % ring->size];
  __atomic_store_n(&ring->page->data_tail, tail + size, __ATOMIC_RELEASE);
  return (int)((struct perf_event_header*)record)->type;
}
