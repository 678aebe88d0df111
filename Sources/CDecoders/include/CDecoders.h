// Decoders of content codings over the libraries of the system, which are found at run time: zlib, brotli and zstd. No header of
// these libraries is needed.

#ifndef CDECODERS_H
#define CDECODERS_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CDecoderKind : int {
  CDecoderGzip,
  /// The format of zlib (RFC 1950).
  CDecoderZlib,
  /// A deflate stream without a wrapper (RFC 1951), which some servers send as `deflate`.
  CDecoderDeflate,
  CDecoderBrotli,
  CDecoderZstandard,
} CDecoderKind;

typedef enum CDecoderState : int {
  /// The input is used, or the output is full.
  CDecoderContinues,
  /// The encoded data has ended. Input can remain.
  CDecoderEnded,
  /// The data is invalid, or there is no memory.
  CDecoderFailed,
} CDecoderState;

typedef struct CDecoder CDecoder;

/// Returns whether the library of a kind was found.
bool cdecoder_is_available(CDecoderKind kind);

/// Returns a decoder, or `NULL` if its library was not found or there is no memory.
CDecoder *cdecoder_create(CDecoderKind kind);

/// Decodes as much as the input and the output allow, and subtracts what was used from their lengths.
CDecoderState cdecoder_decode(
  CDecoder *decoder, const uint8_t *input, size_t *inputLength, uint8_t *output, size_t *outputLength);

void cdecoder_destroy(CDecoder *decoder);

#endif

#endif
