#if defined(__linux__) || defined(__APPLE__)

#define _GNU_SOURCE
#include "CCodings.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

// `z_stream` of zlib, whose layout is part of its stable binary interface.
typedef struct {
  const uint8_t *next_in;
  unsigned int avail_in;
  unsigned long total_in;
  uint8_t *next_out;
  unsigned int avail_out;
  unsigned long total_out;
  const char *message;
  void *state;
  void *allocate;
  void *release;
  void *opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
} ZStream;

typedef struct {
  const void *bytes;
  size_t size;
  size_t position;
} ZstdInput;

typedef struct {
  void *bytes;
  size_t size;
  size_t position;
} ZstdOutput;

static struct {
  int (*inflateInit2_)(ZStream *, int, const char *, int);
  int (*inflate)(ZStream *, int);
  int (*inflateEnd)(ZStream *);
  int (*deflateInit2_)(ZStream *, int, int, int, int, int, const char *, int);
  int (*deflate)(ZStream *, int);
  int (*deflateEnd)(ZStream *);
  bool is_available;
  bool can_encode;
} zlib;

static struct {
  void *(*BrotliDecoderCreateInstance)(void *, void *, void *);
  int (*BrotliDecoderDecompressStream)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
  void (*BrotliDecoderDestroyInstance)(void *);
  bool is_available;
} brotli;

static struct {
  void *(*ZSTD_createDCtx)(void);
  size_t (*ZSTD_freeDCtx)(void *);
  size_t (*ZSTD_DCtx_setParameter)(void *, int, int);
  size_t (*ZSTD_decompressStream)(void *, ZstdOutput *, ZstdInput *);
  unsigned int (*ZSTD_isError)(size_t);
  bool is_available;
} zstd;

static pthread_once_t once = PTHREAD_ONCE_INIT;

#define FIND(table, name) (*(void **)&table.name = dlsym(library, #name))

static void load(void) {
#if defined(__APPLE__)
  void *library = dlopen("/usr/lib/libz.1.dylib", RTLD_NOW | RTLD_LOCAL);
#else
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
  zlib.is_available = library && FIND(zlib, inflateInit2_) && FIND(zlib, inflate) && FIND(zlib, inflateEnd);
  zlib.can_encode = library && FIND(zlib, deflateInit2_) && FIND(zlib, deflate) && FIND(zlib, deflateEnd);
  library = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
  brotli.is_available = library && FIND(brotli, BrotliDecoderCreateInstance)
    && FIND(brotli, BrotliDecoderDecompressStream) && FIND(brotli, BrotliDecoderDestroyInstance);
  library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  zstd.is_available = library && FIND(zstd, ZSTD_createDCtx) && FIND(zstd, ZSTD_freeDCtx)
    && FIND(zstd, ZSTD_DCtx_setParameter) && FIND(zstd, ZSTD_decompressStream) && FIND(zstd, ZSTD_isError);
}

bool cdecoder_is_available(CDecoderKind kind) {
  pthread_once(&once, load);
  switch (kind) {
    case CDecoderGzip:
    case CDecoderZlib:
    case CDecoderDeflate: return zlib.is_available;
    case CDecoderBrotli: return brotli.is_available;
    case CDecoderZstandard: return zstd.is_available;
  }
  return false;
}

struct CDecoder {
  CDecoderKind kind;
  ZStream stream;
  /// The decoder of brotli or zstd.
  void *state;
};

CDecoder *cdecoder_create(CDecoderKind kind) {
  if (!cdecoder_is_available(kind)) return NULL;
  CDecoder *decoder = calloc(1, sizeof(CDecoder));
  if (!decoder) return NULL;
  decoder->kind = kind;
  switch (kind) {
    case CDecoderGzip:
    case CDecoderZlib:
    case CDecoderDeflate: {
      // The largest window. 16 more selects the format of gzip, and a negative number no wrapper.
      int window = kind == CDecoderGzip ? 15 + 16 : kind == CDecoderZlib ? 15 : -15;
      if (zlib.inflateInit2_(&decoder->stream, window, "1", sizeof(ZStream)) == 0) return decoder;
      break;
    }
    case CDecoderBrotli:
      if ((decoder->state = brotli.BrotliDecoderCreateInstance(NULL, NULL, NULL))) return decoder;
      break;
    case CDecoderZstandard:
      // The window of a response has at most 8 MiB (RFC 9659, section 3).
      if ((decoder->state = zstd.ZSTD_createDCtx())) {
        zstd.ZSTD_DCtx_setParameter(decoder->state, 100 /* the logarithm of the largest window */, 23);
        return decoder;
      }
      break;
  }
  free(decoder);
  return NULL;
}

// Calls `inflate` or `deflate`, and subtracts what was used from the lengths.
static CCodingState advance(
  int (*function)(ZStream *, int), int flush, ZStream *stream, const uint8_t *input, size_t *inputLength, uint8_t *output,
  size_t *outputLength) {
  unsigned int inputCount = *inputLength > UINT_MAX ? UINT_MAX : (unsigned int)*inputLength;
  unsigned int outputCount = *outputLength > UINT_MAX ? UINT_MAX : (unsigned int)*outputLength;
  stream->next_in = input;
  stream->avail_in = inputCount;
  stream->next_out = output;
  stream->avail_out = outputCount;
  int result = function(stream, flush);
  *inputLength -= inputCount - stream->avail_in;
  *outputLength -= outputCount - stream->avail_out;
  if (result == 1) return CCodingEnded;
  return result == 0 || result == -5 /* no progress */ ? CCodingContinues : CCodingFailed;
}

CCodingState cdecoder_decode(
  CDecoder *decoder, const uint8_t *input, size_t *inputLength, uint8_t *output, size_t *outputLength) {
  switch (decoder->kind) {
    case CDecoderGzip:
    case CDecoderZlib:
    case CDecoderDeflate:
      return advance(zlib.inflate, 0, &decoder->stream, input, inputLength, output, outputLength);
    case CDecoderBrotli: {
      int result = brotli.BrotliDecoderDecompressStream(
        decoder->state, inputLength, &input, outputLength, &output, NULL);
      return result == 1 ? CCodingEnded : result == 0 ? CCodingFailed : CCodingContinues;
    }
    case CDecoderZstandard: {
      ZstdInput from = {input, *inputLength, 0};
      ZstdOutput to = {output, *outputLength, 0};
      size_t result = zstd.ZSTD_decompressStream(decoder->state, &to, &from);
      *inputLength -= from.position;
      *outputLength -= to.position;
      if (zstd.ZSTD_isError(result)) return CCodingFailed;
      return result == 0 ? CCodingEnded : CCodingContinues;
    }
  }
  return CCodingFailed;
}

void cdecoder_destroy(CDecoder *decoder) {
  switch (decoder->kind) {
    case CDecoderGzip:
    case CDecoderZlib:
    case CDecoderDeflate: zlib.inflateEnd(&decoder->stream); break;
    case CDecoderBrotli: brotli.BrotliDecoderDestroyInstance(decoder->state); break;
    case CDecoderZstandard: zstd.ZSTD_freeDCtx(decoder->state); break;
  }
  free(decoder);
}

struct CEncoder {
  ZStream stream;
};

CEncoder *cencoder_create(void) {
  pthread_once(&once, load);
  CEncoder *encoder = zlib.can_encode ? calloc(1, sizeof(CEncoder)) : NULL;
  if (!encoder) return NULL;
  // The default level, the only method, the largest window with the format of gzip, the default memory and strategy.
  if (zlib.deflateInit2_(&encoder->stream, -1, 8, 15 + 16, 8, 0, "1", sizeof(ZStream)) == 0) return encoder;
  free(encoder);
  return NULL;
}

CCodingState cencoder_encode(
  CEncoder *encoder, const uint8_t *input, size_t *inputLength, CEncoderFlush flush, uint8_t *output, size_t *outputLength) {
  return advance(zlib.deflate, flush, &encoder->stream, input, inputLength, output, outputLength);
}

void cencoder_destroy(CEncoder *encoder) {
  zlib.deflateEnd(&encoder->stream);
  free(encoder);
}

#endif
