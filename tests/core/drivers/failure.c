// Preloaded: so many launches as `failing` says are refused with CL_OUT_OF_RESOURCES.
#include <dlfcn.h>
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
