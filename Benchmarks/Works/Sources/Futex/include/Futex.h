#ifndef FUTEX_H
#define FUTEX_H

#if defined(__linux__)
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Blocks while the word has the value. Swift cannot call `syscall`, which has a variable number of arguments.
static inline void futexWait(const void *_Nonnull word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}

/// Wakes one thread that is blocked on the word.
static inline void futexWake(const void *_Nonnull word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}
#endif

#endif
