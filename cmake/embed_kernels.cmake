# Writes OUTPUT, a C++ source with the bytes of ROOT/NAME for every NAME of the '|'-separated NAMES. Bytes, not string
# literals: no quote, delimiter or length limit of any compiler can get in the way.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" names "${NAMES}")
set(arrays "")
set(entries "")
set(index 0)
foreach(name IN LISTS names)
  file(READ "${ROOT}/${name}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  # The trailing zero is not counted; it keeps the array of an empty file legal.
  string(APPEND arrays "const unsigned char kernel_${index}[] = {${bytes}0};\n")
  string(APPEND entries "        {\"${name}\", text(kernel_${index}, sizeof kernel_${index} - 1)},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}" "// Generated from kernels/ by cmake/embed_kernels.cmake.
#include \"runtime/kernel_source.hpp\"

#include <cstddef>
#include <map>
#include <string>

namespace {
std::string text(const unsigned char* bytes, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(bytes), size);
}
${arrays}} // namespace

const std::map<std::string, std::string>& gpuopt::embedded_kernels() {
    static const std::map<std::string, std::string> kernels = {
${entries}    };
    return kernels;
}
")
