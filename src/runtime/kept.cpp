#include "runtime/kept.hpp"

#include <algorithm>
#include <utility>

namespace gpuopt {

std::shared_ptr<void> Kept::take(const std::string& key) {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
    if (found == entries_.end()) return nullptr;
    auto object = std::move(found->object);
    bytes_ -= found->bytes;
    entries_.erase(found);
    return object;
}

void Kept::give(std::string key, std::shared_ptr<void> object, std::size_t bytes) {
    if (bytes > most_bytes_) return;
    std::list<Entry> dropped, added;  // destroyed when the lock is gone
    added.push_back({std::move(key), std::move(object), bytes});
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    entries_.splice(entries_.begin(), added);
    bytes_ += bytes;
    while (bytes_ > most_bytes_ || entries_.size() > most_objects_) {
        bytes_ -= entries_.back().bytes;
        dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
    }
}

void Kept::clear() noexcept {
    std::list<Entry> dropped;
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    dropped.swap(entries_);
    bytes_ = 0;
}

std::size_t Kept::bytes() const {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    return bytes_;
}

std::size_t Kept::count() const {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    return entries_.size();
}

void Kept::for_each(const std::function<void(void*)>& look) {
    const std::lock_guard<ForkSafeMutex> lock(mutex_);
    for (const auto& entry : entries_) look(entry.object.get());
}

}  // namespace gpuopt
