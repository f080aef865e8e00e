// Variables of the environment by which a driver's compiler makes other programs of the same text.
#pragma once

#include <string>

namespace gpuopt {

// Names and values, sorted, as drivers see them when they are loaded: read at the first call and never again.
const std::string& compiler_settings();

}  // namespace gpuopt
