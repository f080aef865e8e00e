#include "runtime/copies_beside.hpp"

namespace gpuopt {

void CopiesBeside::wait_for(const Buffer& buffer) {
    const auto before = busy_.find(&buffer);
    if (before == busy_.end()) return;
    Session::wait_for(before->second);
    busy_.erase(before);
}

void CopiesBeside::upload(const void* host, Buffer& to) {
    wait_for(to);
    to.upload_rows(host, static_cast<std::ptrdiff_t>(to.bytes()), to.bytes(), 1, 0, true);
}

void CopiesBeside::download(const Buffer& from, void* host) {
    wait_for(from);
    from.download_rows(host, static_cast<std::ptrdiff_t>(from.bytes()), from.bytes(), 1, 0, true);
}

}  // namespace gpuopt
