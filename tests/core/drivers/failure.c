// Preloaded: so many launches as `failing` says are refused with CL_OUT_OF_RESOURCES.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

int failing = 0;

// Python loads its modules into scopes of their own, where RTLD_NEXT does not look.
static void* real(const char* name) { return dlsym(dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD), name); }

int clEnqueueNDRangeKernel(void* queue, void* kernel, uint32_t dimensions, const size_t* offset, const size_t* global,
                           const size_t* local, uint32_t count, void* const* wait, void** event) {
    if (failing > 0) return --failing, -5;
    return ((int (*)(void*, void*, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, void* const*,
                     void**))real("clEnqueueNDRangeKernel"))(queue, kernel, dimensions, offset, global, local, count,
                                                             wait, event);
}

// The read behind so many others is refused, too; below zero none is.
int reads_before_failure = -1;

int clEnqueueReadBuffer(void* queue, void* buffer, uint32_t blocking, size_t at, size_t bytes, void* to, uint32_t count,
                        void* const* wait, void** event) {
    if (reads_before_failure >= 0 && __sync_fetch_and_sub(&reads_before_failure, 1) == 0) return -5;
    return ((int (*)(void*, void*, uint32_t, size_t, size_t, void*, uint32_t, void* const*, void**))real(
        "clEnqueueReadBuffer"))(queue, buffer, blocking, at, bytes, to, count, wait, event);
}

// Waits for a queue fail, where this is not 0.
int finish_fails = 0;

int clFinish(void* queue) { return finish_fails ? -36 : ((int (*)(void*))real("clFinish"))(queue); }

// There are no more threads, where this is not 0.
int no_threads = 0, threads_refused = 0;

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
    if (no_threads) return ++threads_refused, EAGAIN;
    return ((int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create"))(
        thread, attributes, start, argument);
}
