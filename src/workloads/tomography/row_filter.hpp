// The filter of filtered back projection on a device: each row of projections weighted and convolved, by Fourier
// transforms in local memory, two rows as one complex row.
#pragma once

#include <mutex>

#include "runtime/device_array.hpp"
#include "workloads/prepared.hpp"

namespace gpuopt {

// How a transform of a length is computed: so many elements a work-item, passes of these radices.
struct TransformShape {
    std::int64_t length = 0, each = 0;
    std::vector<std::int64_t> radices;
    bool in_turn = false, spread = true;  // real and imaginary parts in the same local memory; gaps against conflicts
};

// The shortest transform of at least `least` elements that the device's work-groups and local memory hold, of 2^k
// elements, from 16 on; where they hold none, of 3 2^k; the length is 0 where there is none of these either.
TransformShape transform_shape(const Device& device, std::int64_t least);

struct RowFilterShape {
    std::int64_t views = 0, rows = 0, columns = 0;  // of the projections
    std::int64_t lead = 0, trail = 0;               // columns of zeros before and after them in the result
    bool rows_reversed = false, columns_reversed = false;
    std::int64_t count() const { return views * rows; }
    std::int64_t wide() const { return lead + columns + trail; }
};

class RowFilter {
public:
    // `weights` (views, 1 or columns), `slants` (1 or rows, 1 or columns): factors of the pixels; `response` (length),
    // that of the filter over the length of a transform, divided by the length. Throws UnsupportedError where the
    // device has no transform of that length, KernelBuildError, DeviceMemoryError.
    RowFilter(const DeviceArray& weights, const DeviceArray& slants, const DeviceArray& response,
              const RowFilterShape& shape);
    const std::shared_ptr<Session>& session() const { return plan_->session(); }
    const RowFilterShape& shape() const { return shape_; }
    // Enqueues the filter and does not wait on a GPU. `out` may be `projections` where neither is reversed nor wider.
    // Returns what it found of each row, (views rows, 4): the largest value, the first, the last, and 1 where one is
    // beyond 1e15, infinite or NaN, else 0.
    DeviceArray start(const std::shared_ptr<Buffer>& projections, const std::shared_ptr<Buffer>& out);

private:
    RowFilterShape shape_;
    std::shared_ptr<Prepared> plan_;
    PatientMutex mutex_;
};

}  // namespace gpuopt
