// The only place that includes CLHPP, so that every translation unit sees the same settings.
#pragma once

#include <CL/opencl.hpp>

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
