#ifndef HEAP_COUNTER_H
#define HEAP_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// What happened on the heap of this process, on all its threads.
typedef struct {
  /// The blocks that were allocated, whatever became of them; -1 where only those in use can be told.
  int64_t allocatedBlocks;
  /// The blocks allocated and not freed.
  int64_t blocksInUse;
  /// Their bytes, with what malloc adds to a block.
  int64_t bytesInUse;
} HeapCount;

/// Whether anything can be counted on this platform.
bool heapCounterExists(void);

/// Whether all blocks that were allocated can be counted, not only those in use.
bool heapCounterCountsAll(void);

/// Begins to count from zero.
void heapCounterStart(void);

/// What happened since the start, which goes on being counted.
HeapCount heapCounterRead(void);

/// Stops counting.
void heapCounterStop(void);

#endif
