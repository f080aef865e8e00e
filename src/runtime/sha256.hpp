// FIPS 180-4 SHA-256: identity of sources and binaries, in rows and in the program cache. Checked against hashlib by a
// test.
#pragma once

#include <string>
#include <string_view>

namespace gpuopt {

std::string sha256_hex(std::string_view data);

}  // namespace gpuopt
