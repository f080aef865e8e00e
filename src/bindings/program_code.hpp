// What a program was built from and what the driver made of it.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/text.hpp"
#include "runtime/error.hpp"
#include "runtime/program.hpp"

namespace gpuopt {

inline pybind11::dict code_of(const Program& program) {
    namespace py = pybind11;
    py::dict code;
    code["text"] = decoded(*program.text);
    code["options"] = program.options;
    const auto binaries = checked([&] { return program.handle.getInfo<CL_PROGRAM_BINARIES>(); });
    const bool none = binaries.empty() || binaries[0].empty();
    code["binary"] =
        none ? py::bytes() : py::bytes(reinterpret_cast<const char*>(binaries[0].data()), binaries[0].size());
    return code;
}

}  // namespace gpuopt
