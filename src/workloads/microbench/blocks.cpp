#include "workloads/microbench/rows.hpp"

namespace gpuopt {

MicrobenchRows block_rows() { return {}; }

}  // namespace gpuopt
