// A diagonal matrix on a device, kept in whatever storage form was asked for last; forms still in use by a plan live on
// with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dtype.hpp"
#include "runtime/program.hpp"

namespace gpuopt {

class DiaMatrix {
public:
    // Index convention of given data: row-indexed val[k,i] = A[i, i+o_k], or SciPy's column-indexed data[k,j] =
    // A[j-o_k, j].
    enum class Indexed { by_row, by_column };

    // `data` is (offsets.size(), width) in host memory, uploaded once. Throws ArrayError for duplicate offsets, a
    // negative shape.
    DiaMatrix(std::shared_ptr<Session> session, DType dtype, std::int64_t rows, std::int64_t cols,
              const std::vector<std::int64_t>& offsets, const void* data, std::int64_t width, Indexed indexed);

    std::shared_ptr<DiaMatrix> transposed();

    // Values in slices of `slice` rows, zero where the matrix has none, packed on the device on first demand.
    std::shared_ptr<Buffer> values(std::int64_t slice);

    const std::shared_ptr<Session>& session() const { return session_; }
    DType dtype() const { return dtype_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }
    std::int64_t diagonals() const { return static_cast<std::int64_t>(offsets_.size()); }
    const std::vector<std::int64_t>& offsets() const { return offsets_; }  // only diagonals that touch the matrix
    std::int64_t stored_entries() const;                                   // sum of their lengths inside the matrix
    std::int64_t min_offset() const;                                       // at most 0
    std::int64_t max_offset() const;                                       // at least 0
    bool needs_long_index() const;
    std::shared_ptr<Buffer> offset_buffer();  // int, or long where needs_long_index()

private:
    // Where values stand: slices of `slice` positions, `width` of them given, entry k of a row at position row +
    // shift*offset_k.
    struct Form {
        std::int64_t slice = 1, width = 0, shift = 0;
        std::shared_ptr<Buffer> buffer;
        bool packed = false;  // made here: zero outside the matrix, where given data may hold anything
    };
    DiaMatrix() = default;

    std::shared_ptr<Session> session_;
    DType dtype_ = DType::f32;
    std::int64_t rows_ = 0, cols_ = 0;
    std::vector<std::int64_t> offsets_;
    std::mutex mutex_;
    Form current_;
    std::map<std::int64_t, std::weak_ptr<Buffer>> in_use_;
    std::shared_ptr<Buffer> offset_buffer_;
};

}  // namespace gpuopt
