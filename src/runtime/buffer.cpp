#include "runtime/buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/fills.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/pinned.hpp"
#include "runtime/recording.hpp"
#include "runtime/rounding.hpp"
#include "runtime/staging.hpp"
#include "runtime/trace.hpp"

namespace gpuopt {
namespace {

constexpr unsigned char guard_pattern = 0xA5;
// Beside inputs, where a read past the end shall show in the result: NaN, and -1 among whole numbers. Not beside
// outputs, where a sum that goes astray would leave a NaN as it was.
constexpr unsigned char poison = 0xFF;
constexpr std::size_t copied_at_once = std::size_t(1) << 30;  // far below the limit of fills

constexpr std::size_t page = 4096;
constexpr std::size_t widest_store = 128;  // bytes that a work-item stores at once: sixteen doubles
constexpr std::size_t widest_zone = std::size_t(4) << 20;

void fill_all(const cl::CommandQueue& queue, const cl::Buffer& buffer, unsigned char byte, std::size_t bytes) {
    enqueue_fill(queue, buffer, byte, bytes);
    checked([&] { return queue.finish(); });
}

}  // namespace

Buffer::Buffer(std::shared_ptr<Session> session, std::size_t bytes, const std::string& what, Guard guard)
    : session_(std::move(session)), bytes_(bytes) {
    // OpenCL has no empty buffers; the few bytes stand for one.
    reserved_ = std::max<std::size_t>(bytes, 64);
    set_guard(guard);
    session_->reserve(reserved_, what);
    try {
        make_place();
        if (place_.fence) Fences::now()->add(place_.fence);
        else if (guarded()) write_zones();
    } catch (...) {
        session_->release(reserved_);  // the destructor of a half-made object does not run
        throw;
    }
}

Buffer::~Buffer() {
    twin_ = {};
    if (pooled() && place_.whole() && session_->in_own_process()) {
        session_->release(reserved_);
        session_->pool().give(std::move(place_.whole), reserved_);
        return;
    }
    place_ = {};  // first: another thread may wait for the room
    session_->release(reserved_);
}

// From the pool where it has one of this size. A driver may have less memory than it says, or another process uses it:
// then what is kept for later calls goes first.
void Buffer::make_place() {
    if (pooled()) {
        place_.whole = session_->pool().take(reserved_);
        if (place_.whole()) {
            place_.handle = place_.whole;
            ++session_->counts.buffers_reused;
            return;
        }
    }
    ++session_->counts.buffers_made;
    const Traced span("allocation");
    try {
        place_ = allocated(take_pages);
    } catch (const DeviceMemoryError&) {
        session_->drop_kept();
        place_ = allocated(take_pages);
    }
}

// What lies beside the buffer, and how much memory it takes with that.
void Buffer::set_guard(Guard guard) {
    const auto& device = session_->device();
    fenced_ = device.type == DeviceType::cpu && Fences::now();
    pattern_ = guard == Guard::none ? poison : guard_pattern;
    if (fenced_) {
        const auto inside = round_up(reserved_, device.base_align_bytes);
        const auto whole = Fence::round_up(inside + device.base_align_bytes);
        before_ = whole - inside;
        reserved_ = whole;
        return;
    }
    if (guard == Guard::none) return;
    // A page more than a power of two: the buffer's own bytes lie in other sets of the caches than their beginning.
    before_ =
        round_up(page + std::min(widest_zone, device.max_work_group_size * widest_store), device.base_align_bytes);
    reserved_ += 2 * before_;
}

void Buffer::write_zones() {
    const std::vector<unsigned char> zone(std::max(before_, behind()), pattern_);
    const auto lock = session_->lock_runs();
    session_->catch_up();
    const auto& queue = session_->queue();
    checked([&] {
        queue.enqueueWriteBuffer(place_.whole, CL_TRUE, 0, before_, zone.data());
        if (behind() == 0) return CL_SUCCESS;
        return queue.enqueueWriteBuffer(place_.whole, CL_TRUE, before_ + bytes_, behind(), zone.data());
    });
}

Buffer::Buffer(std::shared_ptr<Session> session, void* memory, std::size_t bytes, cl_mem_flags access)
    : session_(std::move(session)), bytes_(bytes) {
    place_.whole =
        checked([&] { return cl::Buffer(session_->context(), access | CL_MEM_USE_HOST_PTR, bytes, memory); });
    place_.handle = place_.whole;
}

std::shared_ptr<Buffer> Buffer::borrowed(std::shared_ptr<Session> session, void* memory, std::size_t bytes,
                                         std::shared_ptr<void> owner) {
    std::shared_ptr<Buffer> made(new Buffer(std::move(session), memory, bytes, CL_MEM_READ_WRITE));
    made->owner_ = std::move(owner);
    return made;
}

std::shared_ptr<Buffer> Buffer::borrowed(std::shared_ptr<Session> session, const void* memory, std::size_t bytes,
                                         std::shared_ptr<void> owner) {
    std::shared_ptr<Buffer> made(new Buffer(std::move(session), const_cast<void*>(memory), bytes, CL_MEM_READ_ONLY));
    made->owner_ = std::move(owner);
    return made;
}

cl::Event Buffer::enqueue_to_image(const cl::CommandQueue& queue, const cl::Image& image, std::size_t first,
                                   const std::array<cl::size_type, 3>& region,
                                   const std::vector<cl::Event>* wait) const {
    cl::Event event;
    queue.enqueueCopyBufferToImage(place_.whole, image, before_ + first, {0, 0, 0}, region, wait, &event);
    return event;
}

bool Buffer::in_large_pages() const {
    return session_->device().type == DeviceType::cpu && bytes_ >= 2 * LargePages::page_bytes && !fenced_;
}

namespace {

// A runtime may still write to an object that was released: a blocking write is done with the source, not with the
// target, when it returns. What lies behind the object stays until the runtime lets go of it.
void keep_for(cl::Buffer& buffer, std::shared_ptr<const void> memory) {
    auto held = std::make_unique<std::shared_ptr<const void>>(std::move(memory));
    const auto let_go = [](cl_mem, void* given) { delete static_cast<std::shared_ptr<const void>*>(given); };
    checked([&] { return buffer.setDestructorCallback(let_go, held.get()); });
    static_cast<void>(held.release());
}

}  // namespace

Buffer::Place Buffer::allocated(LargePages (*pages)(std::size_t)) const {
    Place place;
    std::shared_ptr<const void> memory;
    void* host = nullptr;
    if (fenced_) {
        const auto fence = std::make_shared<Fence>(reserved_, before_, bytes_, pattern_);
        host = fence->data();
        if (host) memory = place.fence = fence;
    } else if (in_large_pages()) {
        const auto back = [](LargePages* held) {
            give_pages(std::move(*held));
            delete held;
        };
        const std::shared_ptr<LargePages> taken(new LargePages(pages(reserved_)), back);
        host = taken->data();
        memory = taken;
    }
    place.whole = checked([&] {
        return host ? cl::Buffer(session_->context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, reserved_, host)
                    : cl::Buffer(session_->context(), CL_MEM_READ_WRITE, reserved_);
    });
    if (host) keep_for(place.whole, std::move(memory));
    place.handle = place.whole;
    if (guarded()) {
        cl_buffer_region region{before_, fenced_ ? reserved_ - before_ : std::max<std::size_t>(bytes_, 64)};
        place.handle = checked(
            [&] { return place.whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region); });
    }
    return place;
}

// In fresh pages: those that are kept for later may be the ones that the buffer had before.
void Buffer::make_twin(const cl::CommandQueue& queue, std::vector<cl::Event>& copies) {
    session_->reserve(reserved_, "a copy elsewhere");
    twin_reserved_ = reserved_;
    twin_ = allocated([](std::size_t bytes) { return LargePages(bytes); });
    for (std::size_t at = 0; at < reserved_; at += copied_at_once) {
        const auto bytes = std::min(copied_at_once, reserved_ - at);
        checked([&] {
            return queue.enqueueCopyBuffer(place_.whole, twin_.whole, at, at, bytes, nullptr, &copies.emplace_back());
        });
    }
}

void Buffer::drop_twin() noexcept {
    twin_ = {};
    session_->release(std::exchange(twin_reserved_, 0));
}

Buffer::Pad::Pad(Session& session, std::size_t bytes) : session_(session), bytes_(bytes) {
    if (bytes == 0) return;
    session.reserve(bytes, "a pad");
    try {
        buffer_ = checked([&] { return cl::Buffer(session.context(), CL_MEM_READ_WRITE, bytes); });
        fill_all(session.queue(), buffer_, guard_pattern, bytes);
    } catch (...) {
        session.release(bytes);
        throw;
    }
}

BufferPart::BufferPart(std::shared_ptr<Buffer> whole, std::size_t first, std::size_t bytes)
    : whole_(std::move(whole)), first_(first), bytes_(bytes) {
    const auto lock = whole_->session()->lock_runs();
    argument();
}

const cl::Memory& BufferPart::argument() {
    if (made_of_ != whole_->version()) {
        handle_ = whole_->part(first_, bytes_);
        made_of_ = whole_->version();
    }
    return handle_;
}

cl::Buffer Buffer::part(std::size_t first, std::size_t bytes) const {
    cl_buffer_region region{before_ + first, bytes};
    auto whole = place_.whole;
    return checked([&] { return whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region); });
}

void Buffer::fill(unsigned char byte) {
    if (bytes_ == 0) return;
    const auto lock = session_->lock_runs();
    touched();
    session_->catch_up();
    ++session_->counts.fills;
    fill_all(session_->queue(), place_.handle, byte, bytes_);
}

void Buffer::fill(const void* pattern, std::size_t pattern_bytes) {
    const auto first = std::min(pattern_bytes, bytes_);
    if (first == 0) return;
    upload(pattern, 0, first);
    const auto most = std::max(first, copied_at_once / first * first);  // whole patterns
    const auto lock = session_->lock_runs();
    session_->catch_up();
    ++session_->counts.fills;
    checked([&] {
        for (auto at = first; at < bytes_;) {
            const auto next = std::min({at, most, bytes_ - at});
            session_->queue().enqueueCopyBuffer(place_.handle, place_.handle, 0, at, next);
            at += next;
        }
        return session_->queue().finish();
    });
}

bool Buffer::guards_intact() const {
    if (!guarded()) return true;
    if (place_.fence) {
        if (bytes_ > 0) settle();
        return place_.fence->intact();
    }
    std::vector<unsigned char> zone(std::max(before_, behind()));
    const auto lock = session_->lock_runs();
    session_->catch_up();
    const auto intact = [&](std::size_t start, std::size_t bytes) {
        if (bytes == 0) return true;
        checked([&] { return session_->queue().enqueueReadBuffer(place_.whole, CL_TRUE, start, bytes, zone.data()); });
        return std::all_of(zone.begin(), zone.begin() + static_cast<std::ptrdiff_t>(bytes),
                           [&](unsigned char byte) { return byte == pattern_; });
    };
    return intact(0, before_) && intact(before_ + bytes_, behind());
}

}  // namespace gpuopt
