#ifndef BLACK_HOLE_H
#define BLACK_HOLE_H

#include <stdint.h>

/// Does nothing. No optimiser sees through it, so what it is given must have been computed.
void blackHoleConsume(int64_t value);

/// Returns what it is given. No optimiser sees through it, so an object that went this way escaped.
void *_Nonnull blackHolePass(void *_Nonnull object);

#endif
