/* Makes one of a program's changes to files fail: preloaded, it counts the calls that change something below
   $FAULT_UNDER, in the program that is called $FAULT_PROGRAM, and does $FAULT_KIND at call number $FAULT_AT (from 1):
     eio, edquot   the call fails
     full          it and all later ones that need room fail, a write after half of its bytes
     kill          the process is killed before the call
   With $FAULT_LOG, each call is a line there: "3 rename /run/manifest.json". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int counted = 0;

static int is_watched_program(void) {
  static int known = -1;
  if (known < 0) {
    char path[4096] = "";
    const char* wanted = getenv("FAULT_PROGRAM");
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) path[0] = 0;
    const char* name = strrchr(path, '/');
    known = name != NULL && wanted != NULL && strcmp(name + 1, wanted) == 0;
  }
  return known;
}

static int is_below(const char* path) {
  const char* folder = getenv("FAULT_UNDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_below_fd(int fd) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0) return 0;
  return is_below(path);
}

/* 0: go on; else the call fails with that. `room`: it needs some on the disk. */
static int fault(const char* call, const char* path, int room) {
  const int saved = errno;
  ++counted;
  const char* log = getenv("FAULT_LOG");
  if (log != NULL) {
    int (*real_open)(const char*, int, ...) = dlsym(RTLD_NEXT, "open");
    ssize_t (*real_write)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
    char line[4300];
    const int fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int length = snprintf(line, sizeof line, "%d %s %s\n", counted, call, path);
    if (fd >= 0 && real_write(fd, line, (size_t)length) < 0) abort();
    close(fd);
  }
  errno = saved;
  const char* at = getenv("FAULT_AT");
  const char* kind = getenv("FAULT_KIND");
  if (at == NULL || kind == NULL) return 0;
  const int number = atoi(at);
  if (strcmp(kind, "full") == 0) return counted >= number && room ? ENOSPC : 0;
  if (counted != number) return 0;
  if (strcmp(kind, "kill") == 0) raise(SIGKILL);
  return strcmp(kind, "eio") == 0 ? EIO : EDQUOT;
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__) = NULL; \
  if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void* data, size_t size) {
  REAL(ssize_t, write, int, const void*, size_t);
  if (is_watched_program() && is_below_fd(fd)) {
    const int error = fault("write", "", 1);
    if (error == ENOSPC && size > 1 && counted == atoi(getenv("FAULT_AT")) && strcmp(getenv("FAULT_KIND"), "full") == 0)
      return real(fd, data, size / 2);
    if (error != 0) {
      errno = error;
      return -1;
    }
  }
  return real(fd, data, size);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  REAL(ssize_t, writev, int, const struct iovec*, int);
  if (is_watched_program() && is_below_fd(fd)) {
    const int error = fault("writev", "", 1);
    if (error != 0) {
      errno = error;
      return -1;
    }
  }
  return real(fd, parts, count);
}

#define FAIL_IF(condition, call, path, room) \
  if (is_watched_program() && (condition)) { \
    const int error = fault(call, path, room); \
    if (error != 0) { \
      errno = error; \
      return -1; \
    } \
  }

int rename(const char* from, const char* to) {
  REAL(int, rename, const char*, const char*);
  FAIL_IF(is_below(to), "rename", to, 0)
  return real(from, to);
}

int unlink(const char* path) {
  REAL(int, unlink, const char*);
  FAIL_IF(is_below(path), "unlink", path, 0)
  return real(path);
}

int remove(const char* path) {
  REAL(int, remove, const char*);
  FAIL_IF(is_below(path), "remove", path, 0)
  return real(path);
}

int unlinkat(int folder, const char* path, int flags) {
  REAL(int, unlinkat, int, const char*, int);
  FAIL_IF(is_below_fd(folder) || is_below(path), "unlinkat", path, 0)
  return real(folder, path, flags);
}

int mkdir(const char* path, mode_t mode) {
  REAL(int, mkdir, const char*, mode_t);
  FAIL_IF(is_below(path), "mkdir", path, 1)
  return real(path, mode);
}

int ftruncate(int fd, off_t size) {
  REAL(int, ftruncate, int, off_t);
  FAIL_IF(is_below_fd(fd), "ftruncate", "", 0)
  return real(fd, size);
}

int fsync(int fd) {
  REAL(int, fsync, int);
  FAIL_IF(is_below_fd(fd), "fsync", "", 1)
  return real(fd);
}

static int opened(const char* path, int flags) {
  return (flags & (O_CREAT | O_TRUNC)) != 0 && is_below(path);
}

int open(const char* path, int flags, ...) {
  REAL(int, open, const char*, int, ...);
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  FAIL_IF(opened(path, flags), "open", path, 1)
  return real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  REAL(int, open64, const char*, int, ...);
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  FAIL_IF(opened(path, flags), "open", path, 1)
  return real(path, flags, mode);
}
