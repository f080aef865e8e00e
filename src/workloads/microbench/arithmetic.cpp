#include "workloads/microbench/rows.hpp"

namespace gpuopt {

MicrobenchRows arithmetic_rows() { return {}; }

}  // namespace gpuopt
