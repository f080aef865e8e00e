// What calls leave for later calls of the same kind: plans with their scratch memory.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "runtime/fork.hpp"

namespace gpuopt {

// Whoever uses an object has taken it out: kernels' arguments are state, so two threads never share one. The objects
// that were used last stay.
class Kept {
public:
    explicit Kept(std::size_t most_bytes, std::size_t most_objects = 32)
        : most_bytes_(most_bytes), most_objects_(most_objects) {}

    std::shared_ptr<void> take(const std::string& key);  // nullptr where there is none
    // `bytes` of device memory live as long as the object.
    void give(std::string key, std::shared_ptr<void> object, std::size_t bytes);
    void clear() noexcept;
    std::size_t bytes() const;
    std::size_t count() const;
    void for_each(const std::function<void(void*)>& look);  // of any kind that was given

private:
    struct Entry {
        std::string key;
        std::shared_ptr<void> object;
        std::size_t bytes;
    };

    const std::size_t most_bytes_, most_objects_;
    mutable ForkSafeMutex mutex_;
    std::list<Entry> entries_;  // what was used last comes first
    std::size_t bytes_ = 0;
};

}  // namespace gpuopt
