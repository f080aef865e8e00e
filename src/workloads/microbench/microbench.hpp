// Microbenchmarks: one table of small kernels that each ask a device one question. Every one has the same arguments, so
// that a row says all there is to say of it; ceilings, and so every percentage of a bound, come from here.
#pragma once

#include "runtime/device_array.hpp"
#include "workloads/prepared.hpp"
#include "workloads/workload.hpp"

namespace gpuopt {

// Where a kernel finds the source array: in global or constant memory, in an image on top of the buffer
// (image1d_buffer_t), or in a two-dimensional image `width` scalars wide (image2d_t).
enum class Source { global, constant, image1d_buffer, image2d };

// Sizes of a case: "elements" of the source, "width" of a line of it (all of it, unless two dimensions matter), "trips"
// of loops.
struct MicrobenchDetails {
    Source source = Source::global;
    std::function<std::int64_t(const Case&)> outputs;  // elements that a run writes, when told to store
    std::function<Work(const Case&)> work;
    bool stores_on_request = false;  // a timed run writes (nearly) nothing
};
struct MicrobenchVariant : Variant, MicrobenchDetails {};

struct MicrobenchSizes {
    std::int64_t width = 0;  // 0: all of the source
    std::int64_t trips = 1;
};

// `to` holds at least `MicrobenchFacts::outputs` elements. What the kernel read is stored on a condition that only
// run-time data decide; `store` makes it true. Throws ArrayError, ParameterError, UnsupportedError, KernelBuildError.
std::shared_ptr<Prepared> prepare_microbench(const DeviceArray& from, const DeviceArray& to, MicrobenchSizes sizes,
                                             bool store, const std::string& variant, const Parameters& parameters);
// What such a run writes and does, without building it.
struct MicrobenchFacts {
    std::int64_t outputs = 0;
    Work work;
};
MicrobenchFacts microbench_facts(const Device& device, DType dtype, std::int64_t elements, MicrobenchSizes sizes,
                                 const std::string& variant, const Parameters& parameters);

// A copy of a whole array from the host (`upload`) or to it. The memory there is the driver's own, which it can read
// directly (`pinned`), or ordinary.
struct Transfer {
    std::shared_ptr<Prepared> plan;
    std::shared_ptr<void> memory;  // on the host, as many bytes as the array has
};
Transfer prepare_transfer(const DeviceArray& array, bool upload, bool pinned);

}  // namespace gpuopt
