#include <stddef.h>
#include <stdint.h>

/// libFuzzer's loop (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
int LLVMFuzzerRunDriver(
  int *_Nonnull count, char *_Nullable *_Nonnull *_Nonnull arguments,
  int (*_Nonnull test)(const uint8_t *_Nullable bytes, size_t length));
