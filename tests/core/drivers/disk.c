// Preloaded: writes to the cache of programs are interrupted once, then go in small pieces, and with FULL_DISK=1 end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t write(int file, const void* data, size_t bytes) {
    static ssize_t (*real)(int, const void*, size_t);
    static int calls;
    if (!real) real = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (!strstr(path, "/programs/")) return real(file, data, bytes);
    const int call = calls++;
    if (call % 3 == 0) return errno = EINTR, -1;
    if (call % 3 == 2 && getenv("FULL_DISK")) return errno = ENOSPC, -1;
    return real(file, data, bytes < 1000 ? bytes : 1000);
}
