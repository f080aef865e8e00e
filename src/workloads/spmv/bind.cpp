#include <pybind11/stl.h>

#include "bindings/gil.hpp"
#include "bindings/numpy_view.hpp"
#include "bindings/topics.hpp"
#include "workloads/spmv/spmv.hpp"

namespace gpuopt {
namespace {

using MatrixPointer = std::shared_ptr<DiaMatrix>;

MatrixPointer make_matrix(const py::object& data, const py::object& offsets,
                          std::pair<std::int64_t, std::int64_t> shape, const Device& device, const std::string& indexed,
                          bool in_place) {
    if (indexed != "row" && indexed != "column")
        throw ParameterError("indexed", "\"" + indexed + "\" is no convention", "use \"column\" (SciPy's) or \"row\"");
    const auto values = operand(data, "data"), places = operand(offsets, "offsets");
    if (values.is_device() || places.is_device()) throw ArrayError("data", "it is a DeviceArray", "give NumPy arrays");
    if (places.dtype != DType::i64 && places.dtype != DType::i32)
        throw ArrayError("offsets", std::string("their dtype is ") + facts(places.dtype).numpy_name,
                         "use whole numbers, e.g. offsets.astype(np.int64)");
    if (values.dtype != DType::f32 && values.dtype != DType::f64)
        throw ArrayError("data", std::string("its dtype is ") + facts(values.dtype).numpy_name,
                         "use data.astype(np.float32) or np.float64");
    if (places.rank() != 1)
        throw ArrayError("offsets", "its shape is " + shape_text(places.shape),
                         "give one offset a diagonal, shape (D,)");
    if (values.rank() != 2 || values.shape[0] != places.shape[0])
        throw ArrayError("data", "its shape is " + shape_text(values.shape),
                         "give shape (" + std::to_string(places.shape[0]) + ", length), a row an offset");
    std::vector<std::int64_t> list(static_cast<std::size_t>(places.shape[0]));
    for (std::size_t k = 0; k < list.size(); ++k)
        list[k] = places.dtype == DType::i64 ? static_cast<const std::int64_t*>(places.host)[k]
                                             : static_cast<const std::int32_t*>(places.host)[k];
    const auto session = session_of(device);
    const auto bytes = static_cast<std::size_t>(values.shape[0] * values.shape[1]) * facts(values.dtype).bytes;
    const auto keeper = in_place ? values.keeper() : nullptr;
    const WithoutGil release;
    const auto found = in_place ? values.in_place(session, bytes, keeper) : std::nullopt;
    return std::make_shared<DiaMatrix>(session, values.dtype, shape.first, shape.second, list, values.host,
                                       values.shape[1],
                                       indexed == "row" ? DiaMatrix::Indexed::by_row : DiaMatrix::Indexed::by_column,
                                       found ? found->buffer : nullptr, found ? found->begin : 0);
}

py::object downloaded(const MatrixPointer& matrix) {
    const auto values =
        result_operand(py::none(), false, matrix->dtype(), {matrix->diagonals(), matrix->cols()}, matrix->session());
    {
        const WithoutGil release;
        matrix->download(values.host);
    }
    return finished(values);
}

// Everything a product needs, checked; device buffers are made by `upload`, without the GIL.
struct Call {
    MatrixPointer matrix;
    Operand x, result;
    std::optional<Operand> addend;
    SpmvArguments arguments;

    Call(MatrixPointer given, const py::object& x_given, const py::object& y_given, double alpha, double beta,
         const py::object& out)
        : matrix(std::move(given)), x(operand(x_given, "x")) {
        require_dtype(x, matrix->dtype(), "A");
        require_same_device(x, matrix->session());
        if (x.rank() != 1 && x.rank() != 2)
            throw ArrayError("x", "its shape is " + shape_text(x.shape), "give shape (n,) or (n, k)");
        auto shape = check_spmv(*matrix, x.shape, beta, !y_given.is_none());
        if (!y_given.is_none()) {
            addend = operand(y_given, "y");
            require_dtype(*addend, matrix->dtype(), "A");
            require_same_device(*addend, matrix->session());
            if (addend->shape != shape)
                throw ArrayError("y",
                                 "its shape is " + shape_text(addend->shape) + ", the result's is " + shape_text(shape),
                                 "give an addend of the result's shape");
            if (addend->is_device() != x.is_device())
                throw ArrayError("y", "x and y are of different kinds",
                                 "give both as NumPy arrays or both as DeviceArrays");
        }
        result = result_operand(out, x.is_device(), matrix->dtype(), shape, matrix->session());
        if (result.is_device() && x.is_device() && result.on_device->meets(*x.on_device))
            throw ArrayError("out", "it is x itself", "give another array");
        if (result.is_device() && addend && addend->is_device() && result.on_device->is_shifted(*addend->on_device))
            throw ArrayError("out", "it shares a part of its memory with y", "give y itself, or another array");
        arguments.vectors = x.rank() == 2 ? x.shape[1] : 1;
        arguments.alpha = alpha;
        arguments.beta = beta;
    }

    void upload() {
        arguments.matrix = matrix;
        arguments.x = x.buffer(matrix->session());
        if (addend && arguments.beta != 0) arguments.addend = addend->buffer(matrix->session());
        arguments.y = result.is_device()
                          ? result.on_device
                          : DeviceArray::empty(matrix->session(), result.dtype, result.shape, "the result").buffer;
    }
};

// What a product checks of its arrays, without a product: before a plan is made that may pack the matrix.
void check_arrays(const MatrixPointer& matrix, const py::object& x, const py::object& y, double beta,
                  const py::object& out) {
    const Call checked(matrix, x, y, 1, beta, out);
}

// The product of host arrays by a plan that was made before; what is checked is what a plain product checks.
py::object multiply(HostProduct& product, const MatrixPointer& matrix, const py::object& x, const py::object& y,
                    const py::object& out) {
    Call call(matrix, x, y, 1, product.beta(), out);  // for its checks; alpha is in the plan
    if (matrix->rows() != product.rows() || matrix->cols() != product.cols() || matrix->dtype() != product.dtype())
        throw ArrayError("matrix", "it is not the one this product was planned for", "plan a product of its own");
    if (call.x.is_device()) throw ArrayError("x", "it is a DeviceArray", "give a NumPy array");
    if (call.arguments.vectors != product.vectors())
        throw ArrayError("x", "its shape is " + shape_text(call.x.shape),
                         "this product was planned for " + std::to_string(product.vectors()) + " columns");
    {
        const WithoutGil release;
        product.multiply(call.x.host, call.addend ? call.addend->host : nullptr, call.result.host);
    }
    return finished(call.result);
}

py::object spmv(const MatrixPointer& matrix, const py::object& x, const py::object& y, double alpha, double beta,
                const py::object& out, const std::string& variant, const Parameters& parameters) {
    Call call(matrix, x, y, alpha, beta, out);
    {
        const WithoutGil release;
        call.upload();
        run_spmv(call.arguments, variant, parameters);
        if (!call.result.is_device()) call.arguments.y->download(call.result.host);
    }
    return finished(call.result);
}

std::shared_ptr<Prepared> prepare(const MatrixPointer& matrix, const DeviceArray& x,
                                  const std::optional<DeviceArray>& y, double alpha, double beta,
                                  const DeviceArray& out, const std::string& variant, const Parameters& parameters) {
    Call call(matrix, py::cast(x), y ? py::cast(*y) : py::object(py::none()), alpha, beta, py::cast(out));
    const WithoutGil release;
    call.upload();
    return prepare_spmv(call.arguments, variant, parameters);
}

}  // namespace

void bind_spmv(py::module_& module) {
    py::class_<DiaMatrix, MatrixPointer>(module, "DiaMatrix", "A diagonal matrix in device memory.")
        .def(py::init(&make_matrix), py::arg("data"), py::arg("offsets"), py::arg("shape"), py::arg("device"),
             py::arg("indexed") = "column", py::arg("in_place") = false)
        .def("transposed", &DiaMatrix::transposed, py::call_guard<WithoutGil>())
        .def("download", &downloaded)
        .def_property_readonly("shape",
                               [](const DiaMatrix& matrix) { return py::make_tuple(matrix.rows(), matrix.cols()); })
        .def_property_readonly("dtype", [](const DiaMatrix& matrix) { return numpy_dtype(matrix.dtype()); })
        .def_property_readonly(
            "offsets", [](const DiaMatrix& matrix) { return py::array_t<std::int64_t>(py::cast(matrix.offsets())); })
        .def_property_readonly("stored_entries", &DiaMatrix::stored_entries)
        .def_property_readonly("symmetric", py::cpp_function(&DiaMatrix::symmetric, py::call_guard<WithoutGil>()))
        .def_property_readonly("grid_width", &DiaMatrix::grid_width)
        .def_property_readonly("device", [](const DiaMatrix& matrix) {
            return std::const_pointer_cast<Device>(matrix.session()->shared_device());
        });
    py::class_<HostProduct, std::shared_ptr<HostProduct>>(module, "HostProduct",
                                                          "A product of NumPy arrays, planned once.")
        .def(py::init<const MatrixPointer&, std::int64_t, double, double, const std::string&, const Parameters&>(),
             py::arg("matrix"), py::arg("vectors"), py::arg("alpha"), py::arg("beta"), py::arg("variant"),
             py::arg("parameters"), py::call_guard<WithoutGil>())
        .def("multiply", &multiply, py::arg("matrix"), py::arg("x"), py::arg("y"), py::arg("out"));
    module.def("check_spmv_arrays", &check_arrays, py::arg("matrix"), py::arg("x"), py::arg("y"), py::arg("beta"),
               py::arg("out"));
    module.def("spmv", &spmv, py::arg("matrix"), py::arg("x"), py::arg("y"), py::arg("alpha"), py::arg("beta"),
               py::arg("out"), py::arg("variant"), py::arg("parameters"));
    module.def("prepare_spmv", &prepare, py::arg("matrix"), py::arg("x"), py::arg("y"), py::arg("alpha"),
               py::arg("beta"), py::arg("out"), py::arg("variant"), py::arg("parameters"));
}

}  // namespace gpuopt
