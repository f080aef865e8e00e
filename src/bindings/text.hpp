// Text from drivers and kernel files, which need not be UTF-8.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace gpuopt {

// What is no UTF-8 becomes U+FFFD.
inline pybind11::str decoded(const std::string& text) {
    return pybind11::bytes(text).attr("decode")("utf-8", "replace");
}

// A path as Python's own: os.fsdecode's way with bytes that are no UTF-8.
inline pybind11::str as_path(const std::string& path) {
    return pybind11::reinterpret_steal<pybind11::str>(
        PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

}  // namespace gpuopt
