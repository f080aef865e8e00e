// What goes between a buffer and the caller's memory.
#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/buffer.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/pinned.hpp"
#include "runtime/recording.hpp"
#include "runtime/staging.hpp"
#include "runtime/trace.hpp"

namespace gpuopt {
namespace {

// Transfers cannot be stopped: long ones go in pieces, with a look at signals between them. A piece is of whole units.
template <class F>
void in_pieces(std::size_t units, std::size_t unit_bytes, const F& transfer) {
    const auto piece = std::max<std::size_t>(1, (std::size_t{256} << 20) / unit_bytes);
    for (std::size_t at = 0; at < units; at += piece) {
        if (at > 0) look_now_and_then();
        checked([&] { return transfer(at, std::min(piece, units - at)); });
    }
}

}  // namespace

void Buffer::settle() const {
    const Traced span("download");
    const auto lock = session_->lock_runs();
    session_->catch_up();
    const auto& queue = session_->queue();
    checked([&] {  // one wait for both: the memory is the caller's, and holds what was mapped
        void* const mapped = queue.enqueueMapBuffer(place_.handle, CL_FALSE, CL_MAP_READ, 0, bytes_);
        queue.enqueueUnmapMemObject(place_.handle, mapped);
        return queue.finish();
    });
}

void Buffer::touched() const {
    if (auto* const recording = Recording::now()) recording->touch(*this);
}

// What is pinned itself needs no slots.
StagingRing* Buffer::staging(const HostRows& rows, bool down_beside) const {
    if (rows.rows == 1 && Pinned::holds(*session_, rows.data, rows.row_bytes)) return nullptr;
    return down_beside ? session_->staging_beside(rows.bytes()) : session_->staging(rows.bytes());
}

const cl::CommandQueue& Buffer::queue(bool beside) const {
    if (beside) return session_->copy_queue();
    session_->catch_up();
    return session_->queue();
}

void Buffer::upload(const void* host, std::size_t at, std::size_t bytes) {
    upload({static_cast<unsigned char*>(const_cast<void*>(host)), 0, bytes, 1}, at, false);
}

void Buffer::download(void* host, std::size_t at, std::size_t bytes) const {
    download({static_cast<unsigned char*>(host), 0, bytes, 1}, at);
}

namespace {

// A write that blocks is done with what it reads, not always with the buffer: a kernel in another queue may come first.
struct WrittenAtEnd {
    const cl::CommandQueue* queue;
    ~WrittenAtEnd() {
        if (queue) clFinish((*queue)());
    }
};

}  // namespace

void Buffer::upload(const HostRows& rows, std::size_t at, bool beside) {
    const auto bytes = rows.bytes();
    if (bytes == 0) return;
    const Traced span("upload");
    const auto lock = session_->lock_runs();
    touched();
    const auto& queue = this->queue(beside);
    const WrittenAtEnd end{beside ? &queue : nullptr};
    if (auto* const ring = staging(rows)) return ring->upload(queue, place_.handle, at, rows);
    in_pieces(bytes, 1, [&](std::size_t first, std::size_t part) {
        return queue.enqueueWriteBuffer(place_.handle, CL_TRUE, at + first, part, rows.data + first);
    });
}

void Buffer::download(const HostRows& rows, std::size_t at) const {
    const auto bytes = rows.bytes();
    if (bytes == 0) return;
    const Traced span("download");
    const auto lock = session_->lock_runs();
    const auto& queue = this->queue(false);
    if (auto* const ring = staging(rows)) return ring->download(queue, place_.handle, at, rows);
    in_pieces(bytes, 1, [&](std::size_t first, std::size_t part) {
        return queue.enqueueReadBuffer(place_.handle, CL_TRUE, at + first, part, rows.data + first);
    });
}

void Buffer::download_beside(const HostRows& rows, std::size_t at) const {
    const auto bytes = rows.bytes();
    if (bytes == 0) return;
    const Traced span("download");
    const auto lock = session_->lock_downloads();
    const auto& queue = session_->download_queue();
    if (auto* const ring = staging(rows, true)) return ring->download(queue, place_.handle, at, rows);
    for (std::size_t row = 0; row < rows.rows; ++row) {
        auto* const host = rows.data + static_cast<std::ptrdiff_t>(row) * rows.pitch;
        in_pieces(rows.row_bytes, 1, [&](std::size_t first, std::size_t part) {
            return queue.enqueueReadBuffer(place_.handle, CL_TRUE, at + row * rows.row_bytes + first, part,
                                           host + first);
        });
    }
}

// Rectangles of OpenCL have positive pitches; rows in another order are gathered on the host, one copy of theirs.
void Buffer::upload_rows(const void* host, std::ptrdiff_t pitch, std::size_t row_bytes, std::size_t rows,
                         std::size_t first, bool beside) {
    const HostRows all{static_cast<unsigned char*>(const_cast<void*>(host)), pitch, row_bytes, rows};
    const auto bytes = all.bytes(), at = first * row_bytes;
    if (bytes == 0) return;
    if (rows == 1 || pitch == static_cast<std::ptrdiff_t>(row_bytes))
        return upload({all.data, 0, bytes, 1}, at, beside);
    const Traced span("upload");
    const auto lock = session_->lock_runs();
    touched();
    const auto& queue = this->queue(beside);
    const WrittenAtEnd end{beside ? &queue : nullptr};
    if (auto* const ring = staging(all)) return ring->upload(queue, place_.handle, at, all);
    if (pitch < static_cast<std::ptrdiff_t>(row_bytes)) {
        const auto gathered = std::make_unique<unsigned char[]>(bytes);
        for (std::size_t row = 0; row < rows; ++row)
            std::memcpy(gathered.get() + row * row_bytes, all.data + static_cast<std::ptrdiff_t>(row) * pitch,
                        row_bytes);
        return in_pieces(bytes, 1, [&](std::size_t done, std::size_t part) {
            return queue.enqueueWriteBuffer(place_.handle, CL_TRUE, at + done, part, gathered.get() + done);
        });
    }
    in_pieces(rows, row_bytes, [&](std::size_t row, std::size_t some) {
        return queue.enqueueWriteBufferRect(place_.handle, CL_TRUE, {0, first + row, 0}, {0, 0, 0},
                                            {row_bytes, some, 1}, row_bytes, bytes, static_cast<std::size_t>(pitch), 0,
                                            all.data + row * std::size_t(pitch));
    });
}

void Buffer::download_rows(void* host, std::ptrdiff_t pitch, std::size_t row_bytes, std::size_t rows, std::size_t first,
                           bool beside) const {
    const HostRows all{static_cast<unsigned char*>(host), pitch, row_bytes, rows};
    const auto bytes = all.bytes(), at = first * row_bytes;
    if (bytes == 0) return;
    const bool dense = rows == 1 || pitch == static_cast<std::ptrdiff_t>(row_bytes);
    const HostRows one_by_one = dense ? HostRows{all.data, 0, bytes, 1} : all;
    if (beside) return download_beside(one_by_one, at);
    if (dense) return download(one_by_one, at);
    const Traced span("download");
    const auto lock = session_->lock_runs();
    const auto& queue = this->queue(false);
    if (auto* const ring = staging(all)) return ring->download(queue, place_.handle, at, all);
    if (pitch < static_cast<std::ptrdiff_t>(row_bytes)) {
        const auto gathered = std::make_unique<unsigned char[]>(bytes);
        in_pieces(bytes, 1, [&](std::size_t done, std::size_t part) {
            return queue.enqueueReadBuffer(place_.handle, CL_TRUE, at + done, part, gathered.get() + done);
        });
        for (std::size_t row = 0; row < rows; ++row)
            std::memcpy(all.data + static_cast<std::ptrdiff_t>(row) * pitch, gathered.get() + row * row_bytes,
                        row_bytes);
        return;
    }
    in_pieces(rows, row_bytes, [&](std::size_t row, std::size_t some) {
        return queue.enqueueReadBufferRect(place_.handle, CL_TRUE, {0, first + row, 0}, {0, 0, 0}, {row_bytes, some, 1},
                                           row_bytes, bytes, static_cast<std::size_t>(pitch), 0,
                                           all.data + row * std::size_t(pitch));
    });
}

}  // namespace gpuopt
