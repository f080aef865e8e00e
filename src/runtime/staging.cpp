#include "runtime/staging.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/interrupt.hpp"

namespace gpuopt {
namespace {

// Until something has come, for a while at most: where transfers follow one another, waking up takes longer than a
// short one (H200's host, a virtual machine).
template <class Come>
void wait_awake(const Come& come) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (!come() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

}  // namespace

void CopyThreads::run(std::size_t count, const std::function<void(bool callers)>& body) {
    if (!begin(std::min(count, most_) - 1, body)) return body(true);
    begun_.notify_all();
    std::exception_ptr own;
    try {
        body(true);
    } catch (...) {
        own = std::current_exception();
    }
    wait_awake([&] { return working_ == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [&] { return working_ == 0; });
    body_ = nullptr;
    const auto failure = std::exchange(failure_, nullptr);
    if (own) std::rethrow_exception(own);
    if (failure) std::rethrow_exception(failure);
}

// A round with so many other threads, or with fewer where the system gives no more. False where there are none.
bool CopyThreads::begin(std::size_t others, const std::function<void(bool callers)>& body) {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
        for (; threads_ < others; ++threads_) std::thread([this, number = threads_] { serve(number); }).detach();
    } catch (const std::system_error&) {  // the next round asks again
        others = threads_;
    }
    if (others == 0) return false;
    body_ = &body;
    wanted_ = working_ = others;
    failure_ = nullptr;
    ++round_;
    return true;
}

void CopyThreads::serve(std::size_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    // A thread is started for the round that begins when the lock is free.
    for (std::uint64_t served = round_ - 1;;) {
        begun_.wait(lock, [&] { return round_ != served && body_; });
        served = round_;
        if (number >= wanted_) continue;
        const auto* const body = body_;
        lock.unlock();
        std::exception_ptr failure;
        try {
            (*body)(false);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        if (failure && !failure_) failure_ = failure;
        if (--working_ == 0) ended_.notify_all();
        lock.unlock();
        wait_awake([&] { return round_ != served; });
        lock.lock();
    }
}

namespace {

// The parts of rows that lie at `first` and behind in what the rows are one after the other; `move(host, piece, bytes)`
// each, `piece` counted from `first`.
template <class Move>
void over_rows(const HostRows& rows, std::size_t first, std::size_t bytes, const Move& move) {
    if (rows.rows == 1 || rows.pitch == static_cast<std::ptrdiff_t>(rows.row_bytes)) {
        move(rows.data + first, std::size_t(0), bytes);
        return;
    }
    auto row = first / rows.row_bytes, within = first % rows.row_bytes;
    for (std::size_t done = 0; done < bytes; ++row, within = 0) {
        const auto some = std::min(rows.row_bytes - within, bytes - done);
        move(rows.data + static_cast<std::ptrdiff_t>(row) * rows.pitch + within, done, some);
        done += some;
    }
}

}  // namespace

// One transfer, in pieces that threads take in turn. A piece's command is known once it is enqueued.
struct StagingRing::Transfer {
    Transfer(std::size_t bytes, std::size_t piece, std::size_t ring)
        : bytes(bytes), piece(piece), pieces((bytes + piece - 1) / piece), slots(ring / piece), events(pieces) {}

    std::size_t first(std::size_t number) const { return number * piece; }
    std::size_t size(std::size_t number) const { return std::min(piece, bytes - first(number)); }
    void enqueued(std::size_t number, cl::Event event) {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            events[number] = std::move(event);
        }
        changed.notify_all();
    }
    // Until a piece's command is complete. False where another thread failed.
    bool wait_for(std::size_t number) {
        cl::Event event;
        {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return events[number]() || failed; });
            if (failed) return false;
            event = events[number];
        }
        checked([&] { return event.wait(); });
        return true;
    }
    void fail() {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            failed = true;
        }
        changed.notify_all();
    }

    const std::size_t bytes, piece, pieces, slots;
    std::vector<cl::Event> events;
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> failed{false};
};

StagingRing::StagingRing(const cl::Context& context, const cl::CommandQueue& queue, const StagingSizes& sizes)
    : sizes_(sizes), threads_(std::max<std::size_t>(1, sizes.threads)) {
    const auto bytes = sizes_.slot_bytes * sizes_.slots;
    checked([&] {
        memory_ = cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes);
        data_ =
            static_cast<unsigned char*>(queue.enqueueMapBuffer(memory_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes));
        return CL_SUCCESS;
    });
}

// A short transfer has pieces too, for its copies and its commands to run beside each other: the first piece is copied
// before any command, and the last one's command follows all copies. Of short pieces the ring holds more.
StagingRing::Transfer StagingRing::transfer_of(std::size_t bytes) const {
    constexpr std::size_t page = 4096, shortest = std::size_t(256) << 10, wanted = 32;
    const auto share = (bytes / wanted + page - 1) / page * page;
    const auto piece = std::clamp(share, std::min(shortest, sizes_.slot_bytes), sizes_.slot_bytes);
    return {bytes, piece, sizes_.slot_bytes * sizes_.slots};
}

unsigned char* StagingRing::slot(const Transfer& transfer, std::size_t piece) const {
    return data_ + piece % transfer.slots * transfer.piece;
}

void StagingRing::work(Transfer& transfer, const cl::CommandQueue& queue,
                       const std::function<void(std::size_t)>& move_piece) {
    slots_filled_ += transfer.pieces;
    try {
        threads_.run(std::min(threads_.most(), transfer.pieces), [&](bool callers) {
            try {
                for (std::size_t number; !transfer.failed && (number = transfer.next++) < transfer.pieces;) {
                    if (callers) look_now_and_then();
                    move_piece(number);
                }
            } catch (...) {
                transfer.fail();
                throw;
            }
        });
        checked([&] { return queue.finish(); });
    } catch (...) {
        clFinish(queue());  // the slots are the next transfer's; what it may say is of what is thrown already
        throw;
    }
}

void StagingRing::upload(const cl::CommandQueue& queue, const cl::Buffer& to, std::size_t at, const HostRows& rows) {
    auto transfer = transfer_of(rows.bytes());
    work(transfer, queue, [&](std::size_t number) {
        if (number >= transfer.slots && !transfer.wait_for(number - transfer.slots)) return;
        auto* const filled = slot(transfer, number);
        over_rows(rows, transfer.first(number), transfer.size(number),
                  [&](const unsigned char* host, std::size_t within, std::size_t bytes) {
                      std::memcpy(filled + within, host, bytes);
                  });
        cl::Event event;
        checked([&] {
            queue.enqueueWriteBuffer(to, CL_FALSE, at + transfer.first(number), transfer.size(number), filled, nullptr,
                                     &event);
            return queue.flush();
        });
        transfer.enqueued(number, std::move(event));
    });
}

void StagingRing::download(const cl::CommandQueue& queue, const cl::Buffer& from, std::size_t at,
                           const HostRows& rows) {
    auto transfer = transfer_of(rows.bytes());
    const auto read = [&](std::size_t number) {
        cl::Event event;
        checked([&] {
            queue.enqueueReadBuffer(from, CL_FALSE, at + transfer.first(number), transfer.size(number),
                                    slot(transfer, number), nullptr, &event);
            return queue.flush();
        });
        transfer.enqueued(number, std::move(event));
    };
    const auto ahead = std::min(transfer.slots, transfer.pieces);
    try {
        for (std::size_t number = 0; number < ahead; ++number) read(number);
    } catch (...) {
        clFinish(queue());
        throw;
    }
    work(transfer, queue, [&](std::size_t number) {
        if (!transfer.wait_for(number)) return;
        const auto* const filled = slot(transfer, number);
        over_rows(rows, transfer.first(number), transfer.size(number),
                  [&](unsigned char* host, std::size_t within, std::size_t bytes) {
                      std::memcpy(host, filled + within, bytes);
                  });
        if (number + transfer.slots < transfer.pieces) read(number + transfer.slots);
    });
}

}  // namespace gpuopt
