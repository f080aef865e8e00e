// Variables of the environment by which a driver's compiler makes other programs of the same text.
#pragma once

#include <string>

namespace gpuopt {

// Names and values, sorted, as they were at the first call, when drivers are loaded, and as they are: some drivers read
// theirs once, others whenever they compile.
std::string compiler_settings();

}  // namespace gpuopt
