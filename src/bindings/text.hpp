// Text from drivers and kernel files, which need not be UTF-8.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace gpuopt {

// What is no UTF-8 becomes U+FFFD.
inline pybind11::str decoded(const std::string& text) {
    return pybind11::bytes(text).attr("decode")("utf-8", "replace");
}

}  // namespace gpuopt
