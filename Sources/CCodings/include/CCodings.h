// Content codings over the libraries of the system, which are found at run time: zlib, brotli and zstd. No header of these libraries
// is needed.

#ifndef CCODINGS_H
#define CCODINGS_H

#if defined(__linux__) || defined(__APPLE__)

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

typedef enum CCodingState : int {
  /// The input is used, or the output is full.
  CCodingContinues,
  /// The encoded data has ended. Input can remain.
  CCodingEnded,
  /// The data is invalid, or there is no memory.
  CCodingFailed,
} CCodingState;

typedef struct CDecoder CDecoder;

/// Returns whether the library of a kind was found.
bool cdecoder_is_available(CDecoderKind kind);

/// Returns a decoder, or `NULL` if its library was not found or there is no memory.
CDecoder *cdecoder_create(CDecoderKind kind);

/// Decodes as much as the input and the output allow, and subtracts what was used from their lengths.
CCodingState cdecoder_decode(
  CDecoder *decoder, const uint8_t *input, size_t *inputLength, uint8_t *output, size_t *outputLength);

void cdecoder_destroy(CDecoder *decoder);

/// What an encoder does with bytes that it has and that could be encoded better together with later ones. The numbers are those of zlib.
typedef enum CEncoderFlush : int {
  CEncoderKeeps = 0,
  CEncoderFlushes = 2,
  /// Encodes them, and ends the data.
  CEncoderEnds = 4,
} CEncoderFlush;

/// An encoder of gzip (RFC 1952).
typedef struct CEncoder CEncoder;

/// Returns an encoder, or `NULL` if zlib was not found or there is no memory.
CEncoder *cencoder_create(void);

/// Encodes as much as the input and the output allow, and subtracts what was used from their lengths. It is called until the
/// input is used and the output is not full.
CCodingState cencoder_encode(
  CEncoder *encoder, const uint8_t *input, size_t *inputLength, CEncoderFlush flush, uint8_t *output, size_t *outputLength);

void cencoder_destroy(CEncoder *encoder);

#endif

#endif
