# Writes OUTPUT, a C++ source with the text of ROOT/NAME for every NAME of the '|'-separated NAMES. Every byte is escaped: no
# quote, bracket or delimiter in a kernel can get in the way (and an array of numbers compiles ten times slower).
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" names "${NAMES}")
set(entries "")
foreach(name IN LISTS names)
  file(READ "${ROOT}/${name}" bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
  string(APPEND entries "        {\"${name}\", std::string(\"${bytes}\", ${size})},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Generated from kernels/ by cmake/embed_kernels.cmake. NOLINTBEGIN
#include \"runtime/kernel_source.hpp\"

#include <map>
#include <string>

const std::map<std::string, std::string>& gpuopt::embedded_kernels() {
    static const std::map<std::string, std::string> kernels = {
${entries}    };
    return kernels;
}
// NOLINTEND
")
