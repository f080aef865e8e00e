// Bandwidth kernels: the ceilings that every percentage of a bound divides by.
#pragma once

#include "runtime/device_array.hpp"
#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

const Workload& microbench_workload();

// Streams `from`; copies also write `to`, which holds at least as much. A read keeps one sum a work-item and
// stores it into `to` only when `store` is set at run time: the compiler cannot drop the loads, and a timed read writes
// nothing. The number of sums a read leaves is `read_sums`.
std::shared_ptr<Prepared> prepare_bandwidth(const DeviceArray& from, const DeviceArray& to, bool store,
                                            const std::string& variant, const Parameters& parameters);
std::int64_t read_sums(const Device& device, std::int64_t elements, DType dtype, const std::string& variant,
                       const Parameters& parameters);

}  // namespace gpuopt
