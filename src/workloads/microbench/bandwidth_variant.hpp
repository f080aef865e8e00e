// A row of the bandwidth table.
#pragma once

#include "workloads/microbench/microbench.hpp"

namespace gpuopt {

struct BandwidthVariant : Variant {
    bool writes = false;
};

}  // namespace gpuopt
