// The only place that includes CLHPP, so that every translation unit sees the same settings.
#pragma once

#include <CL/opencl.h>

#include "runtime/fork.hpp"

// CLHPP's objects let go of the driver's by these calls. In a forked child they would wait for threads that it does not
// have, and nothing is lost there: the driver's memory is the parent's.
namespace gpuopt::in_own_process {

template <class Object>
cl_int release(cl_int(CL_API_CALL* by_driver)(Object), Object object) {
    return is_fork() ? CL_SUCCESS : by_driver(object);
}
inline cl_int context(cl_context object) { return release(clReleaseContext, object); }
inline cl_int queue(cl_command_queue object) { return release(clReleaseCommandQueue, object); }
inline cl_int memory(cl_mem object) { return release(clReleaseMemObject, object); }
inline cl_int program(cl_program object) { return release(clReleaseProgram, object); }
inline cl_int kernel(cl_kernel object) { return release(clReleaseKernel, object); }
inline cl_int event(cl_event object) { return release(clReleaseEvent, object); }
inline cl_int sampler(cl_sampler object) { return release(clReleaseSampler, object); }
inline cl_int device(cl_device_id object) { return release(clReleaseDevice, object); }

}  // namespace gpuopt::in_own_process

#define clReleaseContext gpuopt::in_own_process::context
#define clReleaseCommandQueue gpuopt::in_own_process::queue
#define clReleaseMemObject gpuopt::in_own_process::memory
#define clReleaseProgram gpuopt::in_own_process::program
#define clReleaseKernel gpuopt::in_own_process::kernel
#define clReleaseEvent gpuopt::in_own_process::event
#define clReleaseSampler gpuopt::in_own_process::sampler
#define clReleaseDevice gpuopt::in_own_process::device
#include <CL/opencl.hpp>
#undef clReleaseContext
#undef clReleaseCommandQueue
#undef clReleaseMemObject
#undef clReleaseProgram
#undef clReleaseKernel
#undef clReleaseEvent
#undef clReleaseSampler
#undef clReleaseDevice

#include "runtime/error.hpp"

namespace gpuopt {

template <class Function>
auto checked(Function&& function) -> decltype(function()) {
    try {
        return function();
    } catch (const cl::Error& error) {
        rethrow_opencl(error.what(), error.err());
    }
}

}  // namespace gpuopt
