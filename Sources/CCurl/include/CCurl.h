// The functions of libcurl that `CurlLoader` calls, with prototypes of our own: no header of libcurl is needed.
//
// The numbers of options, results and messages are part of libcurl's stable binary interface. Swift cannot call variadic C
// functions soundly, so each kind of argument of `curl_easy_setopt`, `curl_easy_getinfo` and `curl_multi_setopt` has a function
// of its own here.

#ifndef CCURL_H
#define CCURL_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

typedef struct CCurlEasy CCurlEasy;
typedef struct CCurlMulti CCurlMulti;

typedef struct CCurlList {
  char *data;
  struct CCurlList *next;
} CCurlList;

typedef struct CCurlMessage {
  int kind;
  CCurlEasy *easy;
  union {
    void *pointer;
    int result;
  } data;
} CCurlMessage;

/// Bytes in memory that libcurl copies: `struct curl_blob`.
typedef struct CCurlBlob {
  const void *data;
  size_t length;
  unsigned int flags;
} CCurlBlob;

/// The address of a socket that libcurl is about to open. Only its beginning is read.
typedef struct CCurlAddress {
  int family;
  int type;
  int protocol;
} CCurlAddress;

typedef size_t (*CCurlBytes)(char *bytes, size_t size, size_t count, void *owner);
typedef int (*CCurlSeek)(void *owner, int64_t offset, int origin);
typedef int (*CCurlTrailers)(CCurlList **lines, void *owner);
typedef int (*CCurlBeforeRequest)(void *owner, char *peer, char *local, int peerPort, int localPort);
typedef int (*CCurlOpenSocket)(void *owner, int purpose, CCurlAddress *address);
typedef int (*CCurlCloseSocket)(void *owner, int descriptor);
typedef int (*CCurlSocketChange)(CCurlEasy *easy, int descriptor, int interest, void *owner, void *socketOwner);
typedef int (*CCurlTimerChange)(CCurlMulti *multi, long milliseconds, void *owner);

/// Finds and initializes libcurl, once for the process.
///
/// Returns `NULL`, or a text that says what is missing. The other functions may be called only after `NULL`.
const char *ccurl_load(void);

/// The version as a number, such as `0x075801` for 7.88.1.
unsigned int ccurl_version_number(void);
/// The version as a text, such as `7.88.1`.
const char *ccurl_version(void);

/// Begins a section in which the thread calls libcurl. The exit of the process waits for the end of the section, and a
/// section that would begin later never begins: a library that libcurl uses would have released its memory.
void ccurl_enter(void);
/// Ends the section.
void ccurl_leave(void);

CCurlEasy *ccurl_easy_create(void);
void ccurl_easy_destroy(CCurlEasy *easy);
int ccurl_easy_pause(CCurlEasy *easy, int directions);
const char *ccurl_easy_text(int result);

int ccurl_easy_set_number(CCurlEasy *easy, int option, long value);
int ccurl_easy_set_size(CCurlEasy *easy, int option, int64_t value);
int ccurl_easy_set_pointer(CCurlEasy *easy, int option, const void *value);
int ccurl_easy_set_blob(CCurlEasy *easy, int option, const void *bytes, size_t length);
int ccurl_easy_set_bytes(CCurlEasy *easy, int option, CCurlBytes value);
int ccurl_easy_set_seek(CCurlEasy *easy, int option, CCurlSeek value);
int ccurl_easy_set_trailers(CCurlEasy *easy, int option, CCurlTrailers value);
int ccurl_easy_set_before_request(CCurlEasy *easy, int option, CCurlBeforeRequest value);
int ccurl_easy_set_open_socket(CCurlEasy *easy, int option, CCurlOpenSocket value);
int ccurl_easy_set_close_socket(CCurlEasy *easy, int option, CCurlCloseSocket value);

int ccurl_easy_get_number(CCurlEasy *easy, int information, long *value);
int ccurl_easy_get_size(CCurlEasy *easy, int information, int64_t *value);
int ccurl_easy_get_text(CCurlEasy *easy, int information, const char **value);

CCurlList *ccurl_list_append(CCurlList *list, const char *text);
void ccurl_list_destroy(CCurlList *list);

CCurlMulti *ccurl_multi_create(void);
void ccurl_multi_destroy(CCurlMulti *multi);
int ccurl_multi_add(CCurlMulti *multi, CCurlEasy *easy);
int ccurl_multi_remove(CCurlMulti *multi, CCurlEasy *easy);
/// Passes events of a socket, or with the descriptor -1 the end of the timer.
int ccurl_multi_act(CCurlMulti *multi, int descriptor, int events);
CCurlMessage *ccurl_multi_next_message(CCurlMulti *multi);
int ccurl_multi_set_number(CCurlMulti *multi, int option, long value);
int ccurl_multi_set_pointer(CCurlMulti *multi, int option, void *value);
int ccurl_multi_set_socket_change(CCurlMulti *multi, int option, CCurlSocketChange value);
int ccurl_multi_set_timer_change(CCurlMulti *multi, int option, CCurlTimerChange value);

#endif

#endif
