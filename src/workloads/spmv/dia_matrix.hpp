// A diagonal matrix on a device: one whole stored form, from which others are packed on demand and shared while in use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dtype.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/kept.hpp"
#include "runtime/program.hpp"

namespace gpuopt {

class Prepared;

// Values in slices of `slice` rows, val[(i div S)*D*S + k*S + (i mod S)], zero where the matrix has none; diagonals by
// ascending offset, of `upper` only those with offsets of at least 0; `half` in 16 bits. Or `unpacked`, as they were
// given: entry k of row i at val[places[k] + i], places outside the matrix holding anything.
struct StoredForm {
    std::int64_t slice = 1;
    bool upper = false, half = false, unpacked = false;

    bool operator<(const StoredForm& other) const {
        return std::tie(slice, upper, half, unpacked) < std::tie(other.slice, other.upper, other.half, other.unpacked);
    }
};

struct StoredValues {
    std::shared_ptr<Buffer> values, offsets;  // offsets int, or long where needs_long_index()
    std::shared_ptr<Buffer> places;           // of unpacked values, long
    std::vector<std::int64_t> offset_list;
    double scale = 1;  // a power of two: what is stored is scale times the value

    std::int64_t diagonals() const { return static_cast<std::int64_t>(offset_list.size()); }
};

class DiaMatrix {
public:
    // Index convention of given data: row-indexed val[k,i] = A[i, i+o_k], or SciPy's column-indexed data[k,j] =
    // A[j-o_k, j].
    enum class Indexed { by_row, by_column };

    // `data` is (offsets.size(), width) in host memory, uploaded once; with `in_place` it is what that buffer holds
    // from its element `begin` on, and read there. Throws ArrayError for duplicate offsets, a negative shape.
    DiaMatrix(std::shared_ptr<Session> session, DType dtype, std::int64_t rows, std::int64_t cols,
              const std::vector<std::int64_t>& offsets, const void* data, std::int64_t width, Indexed indexed,
              std::shared_ptr<Buffer> in_place = nullptr, std::int64_t begin = 0);

    std::shared_ptr<DiaMatrix> transposed();

    // Copies the values to host memory as SciPy has them, (diagonals(), cols()) by ascending offset: the entry in
    // column j of diagonal k at [k, j], zero where the matrix has none.
    void download(void* values);

    // Packed on the device on first demand.
    std::shared_ptr<const StoredValues> values(const StoredForm& form);

    // The power of two by which values of 16 bits are larger than those of the matrix; asked of the device once.
    double scale_of_halves();

    // Whether every entry equals its mirrored one exactly; asked of the device once.
    bool symmetric();
    // Width of the grid whose points the rows are, 0 where the offsets show none: all bands of neighbouring diagonals
    // have centres that are multiples of it.
    std::int64_t grid_width() const;

    const std::shared_ptr<Session>& session() const { return session_; }
    DType dtype() const { return dtype_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }
    std::int64_t diagonals() const { return static_cast<std::int64_t>(offsets_.size()); }
    const std::vector<std::int64_t>& offsets() const {
        return offsets_;
    }                                     // ascending; only those that touch the matrix
    std::int64_t stored_entries() const;  // sum of their lengths inside the matrix
    std::int64_t min_offset() const;      // at most 0
    std::int64_t max_offset() const;      // at least 0
    bool needs_long_index() const;
    // Plans of plain products: two, as they may hold forms of their own.
    Kept& plans() { return plans_; }

private:
    // Where the whole matrix stands: slices of `slice` positions, `width` of them given, entry k of a row at position
    // row + shift*offset, diagonals in the order of `offsets`. One that is `in_place` is one slice in the caller's
    // memory, its diagonals in the order of `rows`, from element `begin` of the buffer on, which is at `host`.
    struct Whole {
        std::int64_t slice = 1, width = 0, shift = 0;
        std::vector<std::int64_t> offsets;
        std::shared_ptr<Buffer> buffer;
        bool unpacked = false;  // as it was given, or may have been
        bool in_place = false;
        std::vector<std::size_t> rows = {};
        std::int64_t begin = 0;
        const unsigned char* host = nullptr;
    };
    DiaMatrix() = default;
    void own_whole();
    std::vector<std::int64_t> places() const;
    void add_whole(Prepared& plan);
    std::shared_ptr<Buffer> whole_offsets() const;
    double half_scale();

    std::shared_ptr<Session> session_;
    DType dtype_ = DType::f32;
    std::int64_t rows_ = 0, cols_ = 0;
    std::vector<std::int64_t> offsets_;
    PatientMutex mutex_;
    Whole whole_;
    std::map<StoredForm, std::weak_ptr<const StoredValues>> in_use_;
    std::shared_ptr<const StoredValues> own_;  // the form that whole_ is in, once it was packed
    std::optional<bool> symmetric_;
    std::optional<double> half_scale_;
    Kept plans_{SIZE_MAX, 2};
};

}  // namespace gpuopt
