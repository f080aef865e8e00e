#include "workloads/microbench/rows.hpp"

namespace gpuopt {

MicrobenchRows pattern_rows() { return {}; }

}  // namespace gpuopt
