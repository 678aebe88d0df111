#include "HeapCounter.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__GLIBC__)

// The program's own malloc stands before that of glibc, whose functions have these second names. While nothing is
// counted, a call costs one load and one branch more.

#include <malloc.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static bool isCounting;
static HeapCount heap;

static void add(void *block, int64_t sign) {
  if (block == NULL) return;
  if (sign > 0) __atomic_fetch_add(&heap.allocatedBlocks, 1, __ATOMIC_RELAXED);
  int64_t bytes = (int64_t)(malloc_usable_size(block) + sizeof(size_t));
  __atomic_fetch_add(&heap.blocksInUse, sign, __ATOMIC_RELAXED);
  __atomic_fetch_add(&heap.bytesInUse, sign * bytes, __ATOMIC_RELAXED);
}

void *malloc(size_t size) {
  if (__builtin_expect(!isCounting, 1)) return __libc_malloc(size);
  void *block = __libc_malloc(size);
  add(block, 1);
  return block;
}

void *calloc(size_t count, size_t size) {
  void *block = __libc_calloc(count, size);
  if (isCounting) add(block, 1);
  return block;
}

void *realloc(void *block, size_t size) {
  if (isCounting) add(block, -1);
  void *moved = __libc_realloc(block, size);
  if (isCounting) add(moved, 1);
  return moved;
}

void *memalign(size_t alignment, size_t size) {
  void *block = __libc_memalign(alignment, size);
  if (isCounting) add(block, 1);
  return block;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  void *aligned = memalign(alignment, size);
  if (aligned == NULL) return ENOMEM;
  *block = aligned;
  return 0;
}

void free(void *block) {
  if (__builtin_expect(isCounting, 0)) add(block, -1);
  __libc_free(block);
}

bool heapCounterExists(void) { return true; }

bool heapCounterCountsAll(void) { return true; }

void heapCounterStart(void) {
  heap = (HeapCount){0, 0, 0};
  isCounting = true;
}

HeapCount heapCounterRead(void) { return heap; }

void heapCounterStop(void) { isCounting = false; }

#elif defined(__APPLE__)

#include <malloc/malloc.h>

static malloc_statistics_t start;

static malloc_statistics_t statistics(void) {
  malloc_statistics_t now;
  malloc_zone_statistics(NULL, &now);
  return now;
}

bool heapCounterExists(void) { return true; }

bool heapCounterCountsAll(void) { return false; }

void heapCounterStart(void) { start = statistics(); }

HeapCount heapCounterRead(void) {
  malloc_statistics_t now = statistics();
  return (HeapCount){
      -1, (int64_t)now.blocks_in_use - (int64_t)start.blocks_in_use,
      (int64_t)now.size_in_use - (int64_t)start.size_in_use};
}

void heapCounterStop(void) {}

#else

bool heapCounterExists(void) { return false; }

bool heapCounterCountsAll(void) { return false; }

void heapCounterStart(void) {}

HeapCount heapCounterRead(void) { return (HeapCount){-1, -1, -1}; }

void heapCounterStop(void) {}

#endif
