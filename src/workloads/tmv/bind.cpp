#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "workloads/tmv/tmv.hpp"

namespace gpuopt {
namespace {

// A matrix (m, n) of float32 or float64, checked.
Operand matrix(const py::object& given) {
    auto A = matrix_operand(given, "A");
    if (A.dtype != DType::f32 && A.dtype != DType::f64)
        throw ArrayError("A", std::string("its dtype is ") + facts(A.dtype).numpy_name,
                         "use A.astype(np.float32) or np.float64");
    if (A.rank() != 2) throw ArrayError("A", "its shape is " + shape_text(A.shape), "give shape (m, n)");
    return A;
}

// Everything a product needs, checked; device buffers are made by `upload`, without the GIL.
struct Call {
    Operand A, v, result;
    std::shared_ptr<Session> session;
    TmvArguments arguments;

    Call(const py::object& A_given, const py::object& v_given, const py::object& out,
         const std::shared_ptr<Session>& where)
        : A(matrix(A_given)), v(operand(v_given, "v")), session(where) {
        require_dtype(v, A.dtype, "A");
        require_same_device(A, session);
        require_same_device(v, session);
        if (v.shape != std::vector<std::int64_t>{A.shape[0]})
            throw ArrayError("v", "its shape is " + shape_text(v.shape) + ", A's is " + shape_text(A.shape),
                             "give shape " + shape_text({A.shape[0]}));
        result = result_operand(out, v.is_device(), A.dtype, {A.shape[1]}, session);
        if (result.is_device() && (overlap(result, v) || overlap(result, A)))
            throw ArrayError("out", "it is an operand", "give another array");
        if (session->device().type == DeviceType::cpu) keep_A = A.keeper();
        arguments.dtype = A.dtype;
        arguments.rows = A.shape[0];
        arguments.cols = arguments.stride = A.shape[1];
    }

    void upload() {
        if (!borrow()) arguments.A = A.buffer(session);
        arguments.v = v.buffer(session);
        arguments.y = result.is_device() ? result.on_device
                                         : DeviceArray::empty(session, result.dtype, result.shape, "the result").buffer;
    }

private:
    std::int64_t element_bytes() const { return std::int64_t(facts(A.dtype).bytes); }

    // A CPU's kernels read the caller's matrix itself, if rows follow one another: a copy takes longer than the
    // product.
    bool borrow() {
        if (A.is_device() || A.shape[0] * A.shape[1] == 0) return false;
        const bool apart = !A.strides.empty() && A.shape[0] > 1;
        if (apart && (A.strides[0] <= 0 || A.strides[0] % element_bytes() != 0)) return false;
        const auto stride = apart ? A.strides[0] / element_bytes() : arguments.stride;
        const auto elements = stride * (A.shape[0] - 1) + A.shape[1];
        const auto found = A.in_place(session, static_cast<std::size_t>(elements * element_bytes()), keep_A);
        if (!found) return false;
        const auto address = reinterpret_cast<std::uintptr_t>(A.host);
        arguments.A = found->buffer;
        arguments.begin = found->begin;
        arguments.stride = stride;
        arguments.aligned_to = static_cast<std::size_t>(address & (~address + 1));
        return true;
    }

    std::shared_ptr<void> keep_A;  // while the device reads its memory
};

py::object tmv(const py::object& A, const py::object& v, const py::object& out, const Device& device,
               const std::string& variant, const Levels& levels) {
    Call call(A, v, out, session_of(device));
    {
        const WithoutGil release;
        call.upload();
        run_tmv(call.arguments, variant, levels.values);
        if (!call.result.is_device()) call.arguments.y->download(call.result.host);
    }
    return finished(call.result);
}

std::shared_ptr<Prepared> prepare(const DeviceArray& A, const DeviceArray& v, const DeviceArray& out,
                                  const std::string& variant, const Parameters& parameters) {
    Call call(py::cast(A), py::cast(v), py::cast(out), A.buffer->session());
    const WithoutGil release;
    call.upload();
    return prepare_tmv(call.arguments, variant, parameters);
}

}  // namespace

void bind_tmv(py::module_& module) {
    module.def(
        "tmv_dtype", [](const py::object& A) { return numpy_dtype(matrix(A).dtype); }, py::arg("A"));
    module.def("tmv", &tmv, py::arg("A"), py::arg("v"), py::arg("out"), py::arg("device"), py::arg("variant"),
               py::arg("parameters"));
    module.def("prepare_tmv", &prepare, py::arg("A"), py::arg("v"), py::arg("out"), py::arg("variant"),
               py::arg("parameters"));
}

}  // namespace gpuopt
