// The only check of arrays that come from Python: dtype, byte order, layout, rank, writability. Shapes and values are
// the workload's.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/device_array.hpp"
#include "runtime/session.hpp"

namespace gpuopt {

namespace py = pybind11;

// An argument as an operation sees it: an array on the device, or one on the host that travels there and back.
struct Operand {
    std::string name;
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    std::shared_ptr<Buffer> on_device;  // set for a DeviceArray
    void* host = nullptr;               // set for a NumPy array; `owner` keeps it alive
    std::vector<std::int64_t> strides;  // bytes, of a NumPy array whose rows stand apart; empty: C-contiguous
    py::object owner;

    bool is_device() const { return static_cast<bool>(on_device); }
    std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
    // Its buffer on the session's device, uploaded if it is a host array. Call without the GIL.
    std::shared_ptr<Buffer> buffer(const std::shared_ptr<Session>& session) const;
    // A buffer on the array's own memory, for reading, and the elements in it before the array's first: it begins at
    // the last address at or before the array where the device's buffers do, else a driver may copy it. `span` are the
    // array's bytes from its first element on. Nothing where the memory is not this device's own to read: another
    // kind of device, an array without elements, elements that are not aligned.
    struct InPlace {
        std::shared_ptr<Buffer> buffer;
        std::int64_t begin = 0;
    };
    std::optional<InPlace> in_place(const std::shared_ptr<Session>& session, std::size_t span,
                                    const std::shared_ptr<void>& keeper) const;
    // Keeps a NumPy array alive until the last copy is gone, in whatever thread. Call with the GIL.
    std::shared_ptr<void> keeper() const;
    // Writes what a buffer of this shape holds into the host array. Call without the GIL.
    void take(const Buffer& from) const;
};

// The session of a device that Python holds.
std::shared_ptr<Session> session_of(const Device& device);

DType dtype_of(const py::dtype& dtype, const std::string& name);
py::dtype numpy_dtype(DType dtype);
std::string shape_text(const std::vector<std::int64_t>& shape);

// Throws ArrayError naming the argument and the fix; UnsupportedError for complex numbers.
Operand operand(py::handle object, const std::string& name, bool writable = false);

// The same for matrices, whose rows may stand any way apart: only the last axis is contiguous. `transposed` is what to
// pass beside the transpose of a matrix whose columns are contiguous instead, such as "transpose_a=True"; "" where that
// is no way. Writable rows must not overlap.
Operand matrix_operand(py::handle object, const std::string& name, const std::string& transposed = "",
                       bool writable = false);

// Whether both hold some of the same memory.
bool overlap(const Operand& one, const Operand& other);

// The array an operation returns: `out` if given (kind, dtype and shape must fit), else a new one of the kind that was
// given. With `rows_apart`, rows of `out` may stand any way apart.
Operand result_operand(py::handle out, bool on_device, DType dtype, const std::vector<std::int64_t>& shape,
                       const std::shared_ptr<Session>& session, bool rows_apart = false);
py::object finished(const Operand& result);

// A new NumPy array that a device can write in place: aligned for any vector, a big one on large pages, which are used
// again.
py::array host_array(DType dtype, const std::vector<std::int64_t>& shape);
// Gives back what is kept for later calls in the host's memory. Call it with the GIL.
void drop_kept_on_host();
// A new NumPy array in memory that the session's device reads and writes directly; the same on a CPU device, as any.
py::array pinned_array(DType dtype, const std::vector<std::int64_t>& shape, const std::shared_ptr<Session>& session);

void require_dtype(const Operand& operand, DType wanted, const std::string& like);
void require_same_device(const Operand& operand, const std::shared_ptr<Session>& session);

}  // namespace gpuopt
