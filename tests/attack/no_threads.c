/* Preloaded: the system starts no threads in the program that is called $NO_THREADS_IN. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  const char* name = getenv("NO_THREADS_IN");
  if (name != NULL && strcmp(name, program_invocation_short_name) == 0) return EAGAIN;
  return real(thread, attributes, start, argument);
}
