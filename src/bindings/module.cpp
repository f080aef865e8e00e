#include "bindings/topics.hpp"

namespace gpuopt {
extern const char* const source_commit;  // cmake/commit.cmake writes it
}

PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
    module.doc() = "The C++ core of gpuopt.";
    module.attr("__version__") = GPUOPT_VERSION;
    module.attr("__commit__") = gpuopt::source_commit;
    gpuopt::bind_errors(module);
    gpuopt::bind_device(module);
    gpuopt::bind_device_array(module);
    gpuopt::bind_arithmetic(module);
    gpuopt::bind_foreign(module);
    gpuopt::bind_interrupts(module);
    gpuopt::bind_result(module);
    gpuopt::bind_tables(module);
    gpuopt::bind_own_plan(module);
    gpuopt::bind_recording(module);
#define WORKLOAD(name) gpuopt::bind_##name(module);
#include "workloads/registry.def"
    gpuopt::bind_handles(module);
}
