#include "bindings/numpy_view.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "bindings/gil.hpp"
#include "runtime/discovery.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/large_pages.hpp"
#include "runtime/pinned.hpp"

namespace gpuopt {

std::shared_ptr<Session> session_of(const Device& device) {
    return Session::of(discover().devices.at(static_cast<std::size_t>(device.index)));
}

DType dtype_of(const py::dtype& dtype, const std::string& name) {
    static const std::map<std::pair<char, py::ssize_t>, DType> known = {
        {{'i', 1}, DType::i8},  {{'u', 1}, DType::u8},  {{'i', 2}, DType::i16}, {{'u', 2}, DType::u16},
        {{'i', 4}, DType::i32}, {{'u', 4}, DType::u32}, {{'i', 8}, DType::i64}, {{'u', 8}, DType::u64},
        {{'f', 2}, DType::f16}, {{'f', 4}, DType::f32}, {{'f', 8}, DType::f64},
    };
    const auto text = [&] { return py::str(dtype).cast<std::string>(); };  // numpy takes 3 us to make it
    if (dtype.kind() == 'c')
        throw UnsupportedError(
            UnsupportedError::Because::constraint,
            name + ": complex numbers (" + text() + ") are not supported; use real and imaginary parts");
    const auto found = known.find({dtype.kind(), dtype.itemsize()});
    if (found == known.end())
        throw ArrayError(name, "its dtype " + text() + " has no OpenCL type",
                         "convert it, e.g. " + name + ".astype(np.float32)");
    if (!dtype.attr("isnative").cast<bool>())
        throw ArrayError(name, "its byte order is not the machine's",
                         "use " + name + ".astype(" + name + ".dtype.newbyteorder('='))");
    return found->second;
}

py::dtype numpy_dtype(DType dtype) { return py::dtype(facts(dtype).numpy_name); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

namespace {

struct Rows {
    unsigned char* host;
    std::ptrdiff_t pitch;
    std::size_t bytes, count, first;
};

// A host array as blocks of rows of equal pitch: as few and as long ones as its strides allow.
std::vector<Rows> rows_of(const Operand& array) {
    auto axis = array.shape.size() - 1;
    auto row = array.shape[axis] * static_cast<std::int64_t>(facts(array.dtype).bytes);
    while (axis > 0 && (array.shape[axis - 1] == 1 || array.strides[axis - 1] == row)) row *= array.shape[--axis];
    std::int64_t pitch = row, count = 1;
    if (axis > 0) {
        pitch = array.strides[--axis];
        count = array.shape[axis];
        while (axis > 0 && array.strides[axis - 1] == pitch * count) count *= array.shape[--axis];
    }
    const auto rows = static_cast<std::size_t>(count);
    std::vector<Rows> blocks{{static_cast<unsigned char*>(array.host), pitch, static_cast<std::size_t>(row), rows, 0}};
    while (axis-- > 0) {
        std::vector<Rows> more;
        for (std::int64_t i = 0; i < array.shape[axis]; ++i)
            for (auto block : blocks) {
                block.host += i * array.strides[axis];
                block.first += static_cast<std::size_t>(i) * blocks.size() * rows;
                more.push_back(block);
            }
        blocks = std::move(more);
    }
    return blocks;
}

}  // namespace

std::shared_ptr<Buffer> Operand::buffer(const std::shared_ptr<Session>& session) const {
    if (on_device) return on_device;
    auto made = std::make_shared<Buffer>(session, DeviceArray::bytes_of(dtype, shape, name), name);
    if (strides.empty()) made->upload(host);
    else
        for (const auto& rows : rows_of(*this)) {
            look_now_and_then();
            made->upload_rows(rows.host, rows.pitch, rows.bytes, rows.count, rows.first);
        }
    return made;
}

std::optional<Operand::InPlace> Operand::in_place(const std::shared_ptr<Session>& session, std::size_t span,
                                                  const std::shared_ptr<void>& keeper) const {
    if (!host || span == 0 || session->device().type != DeviceType::cpu) return std::nullopt;
    const auto before = reinterpret_cast<std::uintptr_t>(host) % session->device().base_align_bytes;
    const auto element = facts(dtype).bytes;
    if (before % element != 0) return std::nullopt;
    session->require_own_process();
    if (before + span > session->device().max_alloc_bytes) return std::nullopt;  // a copy says so by name
    const void* const begin = static_cast<const unsigned char*>(host) - before;
    return InPlace{Buffer::borrowed(session, begin, before + span, keeper),
                   static_cast<std::int64_t>(before / element)};
}

void Operand::take(const Buffer& from) const {
    if (strides.empty()) from.download(host);
    else
        for (const auto& rows : rows_of(*this)) {
            look_now_and_then();
            from.download_rows(rows.host, rows.pitch, rows.bytes, rows.count, rows.first);
        }
}

namespace {

// Dtype, rank and memory; the layout is yet to be checked.
Operand any_operand(py::handle object, const std::string& name, bool writable) {
    Operand result;
    result.name = name;
    result.owner = py::reinterpret_borrow<py::object>(object);
    if (py::isinstance<DeviceArray>(object)) {
        const auto& array = object.cast<const DeviceArray&>();
        result.dtype = array.dtype;
        result.shape = array.shape;
        result.on_device = array.buffer;
        return result;
    }
    if (!py::isinstance<py::array>(object))
        throw ArrayError(
            name,
            "expected a NumPy array or DeviceArray, got " + py::type::of(object).attr("__name__").cast<std::string>(),
            "use np.asarray(" + name + ", dtype=np.float32)");
    const auto array = py::reinterpret_borrow<py::array>(object);
    result.dtype = dtype_of(array.dtype(), name);
    result.shape.assign(array.shape(), array.shape() + array.ndim());
    if (writable && !array.writeable()) throw ArrayError(name, "it is read-only", "give a writable array");
    result.host = const_cast<void*>(array.data());
    if (!(array.flags() & py::array::c_style)) result.strides.assign(array.strides(), array.strides() + array.ndim());
    return result;
}

// Rows of the second to last axis do not overlap, nor do matrices.
bool rows_stand_apart(const Operand& array) {
    const auto rank = array.strides.size();
    auto reach = array.shape[rank - 1] * std::int64_t(facts(array.dtype).bytes);
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;
    for (std::size_t axis = 0; axis + 1 < rank; ++axis)
        if (array.shape[axis] > 1) steps.emplace_back(std::abs(array.strides[axis]), array.shape[axis]);
    std::sort(steps.begin(), steps.end());
    for (const auto& [step, count] : steps) {
        if (step < reach) return false;
        reach += step * (count - 1);
    }
    return true;
}

}  // namespace

Operand operand(py::handle object, const std::string& name, bool writable) {
    auto result = any_operand(object, name, writable);
    if (!result.strides.empty())
        throw ArrayError(name, "it is not C-contiguous", "use np.ascontiguousarray(" + name + ")");
    return result;
}

Operand matrix_operand(py::handle object, const std::string& name, const std::string& transposed, bool writable) {
    auto result = any_operand(object, name, writable);
    if (result.strides.empty()) return result;
    const auto rank = result.strides.size();
    const auto element = std::int64_t(facts(result.dtype).bytes);
    const auto copy = "use np.ascontiguousarray(" + name + ")";
    if (rank < 2) throw ArrayError(name, "it is not C-contiguous", copy);
    if (result.shape[rank - 1] > 1 && result.strides[rank - 1] != element)
        throw ArrayError(name, "its rows are not contiguous",
                         !transposed.empty() && result.strides[rank - 2] == element
                             ? "pass " + name + (rank == 2 ? ".T" : ".swapaxes(-2, -1)") + " and " + transposed
                             : copy);
    if (writable && !rows_stand_apart(result))
        throw ArrayError(name, "its rows overlap", "give an array whose elements are all its own");
    return result;
}

bool overlap(const Operand& one, const Operand& other) {
    if (one.is_device() || other.is_device())
        return one.is_device() && other.is_device() && one.on_device->meets(*other.on_device);
    const auto numpy = py::module_::import("numpy");
    if (!numpy.attr("may_share_memory")(one.owner, other.owner).cast<bool>()) return false;
    try {
        constexpr int most_work = 1 << 20;  // of a search that could take for ever; views of matrices need a few steps
        return numpy.attr("shares_memory")(one.owner, other.owner, most_work).cast<bool>();
    } catch (const py::error_already_set& error) {  // a signal's handler may have raised one, too
        const auto too_hard = numpy.attr("exceptions").attr("TooHardError");
        if (!error.matches(too_hard)) throw;
        return true;
    }
}

void require_dtype(const Operand& operand, DType wanted, const std::string& like) {
    if (operand.dtype != wanted)
        throw ArrayError(operand.name,
                         std::string("its dtype is ") + facts(operand.dtype).numpy_name + ", " + like + " is " +
                             facts(wanted).numpy_name,
                         "use " + operand.name + ".astype(np." + facts(wanted).numpy_name + ")");
}

void require_same_device(const Operand& operand, const std::shared_ptr<Session>& session) {
    if (operand.on_device && operand.on_device->session() != session)
        throw ArrayError(operand.name,
                         "it lies on " + operand.on_device->session()->device().name + ", the operation runs on " +
                             session->device().name,
                         "move it with gpuopt.to_device(" + operand.name + ".to_numpy(), device)");
}

namespace {

py::array made_array(DType dtype, const std::vector<std::int64_t>& shape) {
    constexpr auto alignment = std::align_val_t{128};
    const std::vector<py::ssize_t> lengths(shape.begin(), shape.end());
    const auto bytes = DeviceArray::bytes_of(dtype, shape, "the result");
    if (bytes >= 2 * LargePages::page_bytes) {
        auto pages = std::make_unique<LargePages>(take_pages(bytes));
        if (void* const data = pages->data()) {
            const py::capsule owner(pages.get(), [](void* held) {
                const std::unique_ptr<LargePages> let_go(static_cast<LargePages*>(held));
                give_pages(std::move(*let_go));
            });
            static_cast<void>(pages.release());
            return py::array(numpy_dtype(dtype), lengths, data, owner);
        }
    }
    void* const data = ::operator new(std::max<std::size_t>(bytes, 1), alignment);
    const py::capsule owner(data, [](void* held) { ::operator delete(held, alignment); });
    return py::array(numpy_dtype(dtype), lengths, data, owner);
}

}  // namespace

py::array host_array(DType dtype, const std::vector<std::int64_t>& shape) {
    try {
        return made_array(dtype, shape);
    } catch (const std::bad_alloc&) {
        drop_kept_on_host();
    }
    return made_array(dtype, shape);
}

void drop_kept_on_host() {
    const WithoutGil release;
    for (const auto& session : Session::all())
        if (session->device().type == DeviceType::cpu) session->drop_kept();
    drop_pages();
}

py::array pinned_array(DType dtype, const std::vector<std::int64_t>& shape, const std::shared_ptr<Session>& session) {
    const auto bytes = DeviceArray::bytes_of(dtype, shape, "the array");
    if (bytes == 0 || session->device().type == DeviceType::cpu) return host_array(dtype, shape);
    auto pinned = [&] {
        const WithoutGil release;
        return std::make_unique<Pinned>(session, bytes);
    }();
    void* const data = pinned->data();
    const py::capsule owner(pinned.get(), [](void* held) { delete static_cast<Pinned*>(held); });
    static_cast<void>(pinned.release());
    return py::array(numpy_dtype(dtype), std::vector<py::ssize_t>(shape.begin(), shape.end()), data, owner);
}

Operand result_operand(py::handle out, bool on_device, DType dtype, const std::vector<std::int64_t>& shape,
                       const std::shared_ptr<Session>& session, bool rows_apart) {
    if (!out.is_none()) {
        auto given = rows_apart ? matrix_operand(out, "out", "", true) : operand(out, "out", true);
        require_dtype(given, dtype, "the result");
        if (given.shape != shape)
            throw ArrayError("out",
                             "its shape is " + shape_text(given.shape) + ", the result's is " + shape_text(shape),
                             "give an array of the result's shape");
        if (given.is_device() != on_device)
            throw ArrayError("out",
                             on_device ? "the inputs are DeviceArrays, it is a NumPy array"
                                       : "the inputs are NumPy arrays, it is a DeviceArray",
                             "give the kind of array that the inputs are");
        require_same_device(given, session);
        return given;
    }
    if (on_device) return operand(py::cast(DeviceArray::empty(session, dtype, shape, "the result")), "out");
    session->require_room(DeviceArray::bytes_of(dtype, shape, "the result"), "the result");
    return operand(host_array(dtype, shape), "out");
}

py::object finished(const Operand& result) { return result.owner; }

}  // namespace gpuopt
