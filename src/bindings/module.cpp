#include "bindings/topics.hpp"

PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
    module.doc() = "The C++ core of gpuopt.";
    module.attr("__version__") = GPUOPT_VERSION;
    gpuopt::bind_errors(module);
    gpuopt::bind_device(module);
    gpuopt::bind_result(module);
    gpuopt::bind_tables(module);
    gpuopt::bind_spmv(module);
    gpuopt::bind_gem(module);
    gpuopt::bind_gemm(module);
    gpuopt::bind_tmv(module);
    gpuopt::bind_tomography(module);
    gpuopt::bind_projector(module);
    gpuopt::bind_microbench(module);
}
