#if defined(__linux__)

#define _GNU_SOURCE
#include "CCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// The beginning of `curl_version_info_data`. Later versions append members only.
typedef struct {
  int age;
  const char *version;
  unsigned int number;
} Version;

#define FUNCTIONS(F) \
  F(int, curl_global_init, (long)) \
  F(Version *, curl_version_info, (int)) \
  F(CCurlEasy *, curl_easy_init, (void)) \
  F(void, curl_easy_cleanup, (CCurlEasy *)) \
  F(int, curl_easy_pause, (CCurlEasy *, int)) \
  F(const char *, curl_easy_strerror, (int)) \
  F(int, curl_easy_setopt, (CCurlEasy *, int, ...)) \
  F(int, curl_easy_getinfo, (CCurlEasy *, int, ...)) \
  F(CCurlList *, curl_slist_append, (CCurlList *, const char *)) \
  F(void, curl_slist_free_all, (CCurlList *)) \
  F(CCurlMulti *, curl_multi_init, (void)) \
  F(int, curl_multi_cleanup, (CCurlMulti *)) \
  F(int, curl_multi_add_handle, (CCurlMulti *, CCurlEasy *)) \
  F(int, curl_multi_remove_handle, (CCurlMulti *, CCurlEasy *)) \
  F(int, curl_multi_socket_action, (CCurlMulti *, int, int, int *)) \
  F(CCurlMessage *, curl_multi_info_read, (CCurlMulti *, int *)) \
  F(int, curl_multi_setopt, (CCurlMulti *, int, ...))

// A program that is linked to libcurl, by itself or through FoundationNetworking, defines these. It is the only way that works
// in a static executable.
#define WEAK(result, name, parameters) extern result name parameters __attribute__((weak));
FUNCTIONS(WEAK)

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct {
  FUNCTIONS(MEMBER)
} curl;

// MARK: - Loading

static bool find_linked(void) {
#define LINKED(result, name, parameters) \
  if (!(curl.name = name)) return false;
  FUNCTIONS(LINKED)
  return true;
}

static bool find_in(void *library) {
#define FOUND(result, name, parameters) \
  if (!(*(void **)&curl.name = dlsym(library, #name))) return false;
  FUNCTIONS(FOUND)
  return true;
}

static bool find(void) {
  static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  if (find_linked() || find_in(RTLD_DEFAULT)) return true;
  for (size_t index = 0; index < sizeof names / sizeof names[0]; index++) {
    void *library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (library && find_in(library)) return true;
  }
  return false;
}

// MARK: - Exit

// The library of TLS releases its memory in a function that runs at the exit of the process. A thread that calls libcurl then
// would use that memory. The exit therefore takes this lock for good, and each thread holds it as a reader while it is in libcurl.
static pthread_rwlock_t running;
static __thread bool is_inside;

static void stop_at_exit(void) {
  if (is_inside) return;  // A callback called `exit`: its thread does not return to libcurl.
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 2;  // For a callback that does not return.
  pthread_rwlock_timedwrlock(&running, &limit);
}

void ccurl_enter(void) {
  pthread_rwlock_rdlock(&running);
  is_inside = true;
}

void ccurl_leave(void) {
  is_inside = false;
  pthread_rwlock_unlock(&running);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *fault;

static void load(void) {
  if (!find()) {
    fault = "libcurl was not found (libcurl.so.4)";
    return;
  }
  if (curl.curl_global_init(3 /* everything */)) {
    fault = "libcurl could not be initialized";
    return;
  }
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
#if defined(__GLIBC__)
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  pthread_rwlock_init(&running, &attributes);
  pthread_rwlockattr_destroy(&attributes);
  atexit(stop_at_exit);  // After those of the libraries, so that it runs before them.
}

const char *ccurl_load(void) {
  pthread_once(&once, load);
  return fault;
}

unsigned int ccurl_version_number(void) { return curl.curl_version_info(0)->number; }
const char *ccurl_version(void) { return curl.curl_version_info(0)->version; }

// MARK: - Handles of one transfer

CCurlEasy *ccurl_easy_create(void) { return curl.curl_easy_init(); }
void ccurl_easy_destroy(CCurlEasy *easy) { curl.curl_easy_cleanup(easy); }
int ccurl_easy_pause(CCurlEasy *easy, int directions) { return curl.curl_easy_pause(easy, directions); }
const char *ccurl_easy_text(int result) { return curl.curl_easy_strerror(result); }

int ccurl_easy_set_number(CCurlEasy *easy, int option, long value) { return curl.curl_easy_setopt(easy, option, value); }
int ccurl_easy_set_size(CCurlEasy *easy, int option, int64_t value) { return curl.curl_easy_setopt(easy, option, value); }
int ccurl_easy_set_pointer(CCurlEasy *easy, int option, const void *value) {
  return curl.curl_easy_setopt(easy, option, value);
}
int ccurl_easy_set_blob(CCurlEasy *easy, int option, const void *bytes, size_t length) {
  CCurlBlob blob = {bytes, length, 1 /* copied */};
  return curl.curl_easy_setopt(easy, option, &blob);
}
int ccurl_easy_set_bytes(CCurlEasy *easy, int option, CCurlBytes value) {
  return curl.curl_easy_setopt(easy, option, value);
}
int ccurl_easy_set_seek(CCurlEasy *easy, int option, CCurlSeek value) { return curl.curl_easy_setopt(easy, option, value); }
int ccurl_easy_set_trailers(CCurlEasy *easy, int option, CCurlTrailers value) {
  return curl.curl_easy_setopt(easy, option, value);
}
int ccurl_easy_set_before_request(CCurlEasy *easy, int option, CCurlBeforeRequest value) {
  return curl.curl_easy_setopt(easy, option, value);
}
int ccurl_easy_set_open_socket(CCurlEasy *easy, int option, CCurlOpenSocket value) {
  return curl.curl_easy_setopt(easy, option, value);
}
int ccurl_easy_set_close_socket(CCurlEasy *easy, int option, CCurlCloseSocket value) {
  return curl.curl_easy_setopt(easy, option, value);
}

int ccurl_easy_get_number(CCurlEasy *easy, int information, long *value) {
  return curl.curl_easy_getinfo(easy, information, value);
}
int ccurl_easy_get_size(CCurlEasy *easy, int information, int64_t *value) {
  return curl.curl_easy_getinfo(easy, information, value);
}
int ccurl_easy_get_text(CCurlEasy *easy, int information, const char **value) {
  return curl.curl_easy_getinfo(easy, information, value);
}

CCurlList *ccurl_list_append(CCurlList *list, const char *text) { return curl.curl_slist_append(list, text); }
void ccurl_list_destroy(CCurlList *list) { curl.curl_slist_free_all(list); }

// MARK: - All transfers of a thread

CCurlMulti *ccurl_multi_create(void) { return curl.curl_multi_init(); }
void ccurl_multi_destroy(CCurlMulti *multi) { curl.curl_multi_cleanup(multi); }
int ccurl_multi_add(CCurlMulti *multi, CCurlEasy *easy) { return curl.curl_multi_add_handle(multi, easy); }
int ccurl_multi_remove(CCurlMulti *multi, CCurlEasy *easy) { return curl.curl_multi_remove_handle(multi, easy); }
int ccurl_multi_act(CCurlMulti *multi, int descriptor, int events) {
  int count;
  return curl.curl_multi_socket_action(multi, descriptor, events, &count);
}
CCurlMessage *ccurl_multi_next_message(CCurlMulti *multi) {
  int count;
  return curl.curl_multi_info_read(multi, &count);
}
int ccurl_multi_set_number(CCurlMulti *multi, int option, long value) {
  return curl.curl_multi_setopt(multi, option, value);
}
int ccurl_multi_set_pointer(CCurlMulti *multi, int option, void *value) {
  return curl.curl_multi_setopt(multi, option, value);
}
int ccurl_multi_set_socket_change(CCurlMulti *multi, int option, CCurlSocketChange value) {
  return curl.curl_multi_setopt(multi, option, value);
}
int ccurl_multi_set_timer_change(CCurlMulti *multi, int option, CCurlTimerChange value) {
  return curl.curl_multi_setopt(multi, option, value);
}

#endif
