// One family of Python exceptions; facts travel as attributes, so that no caller parses a message.
#include <map>
#include <new>
#include <string>

#include "bindings/text.hpp"
#include "bindings/topics.hpp"
#include "runtime/error.hpp"

namespace gpuopt {
namespace py = pybind11;
namespace {

using Types = std::map<std::string, PyObject*>;

Types& types() {
    static auto& all = *new Types();  // exception types live as long as the interpreter
    return all;
}

void add(py::module_& module, const std::string& name, const char* doc, const py::object& bases) {
    PyObject* type = PyErr_NewExceptionWithDoc(("gpuopt." + name).c_str(), doc, bases.ptr(), nullptr);
    if (!type) throw py::error_already_set();
    types()[name] = type;
    module.add_object(name.c_str(), py::reinterpret_borrow<py::object>(type));
}

py::object error_of(const std::string& name, const std::exception& error) {
    return py::reinterpret_borrow<py::object>(types().at(name))(decoded(error.what()));
}

void raise(const py::object& error) { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr()); }

void translate(std::exception_ptr pending) {
    try {
        if (pending) std::rethrow_exception(pending);
    } catch (const KernelBuildError& error) {
        auto object = error_of("KernelBuildError", error);
        object.attr("log") = decoded(error.log);
        object.attr("file") = decoded(error.file);
        object.attr("line") = error.line;
        raise(object);
    } catch (const OpenCLError& error) {
        auto object = error_of("OpenCLError", error);
        object.attr("call") = error.call;
        object.attr("code") = error.code;
        object.attr("name") = error.name;
        raise(object);
    } catch (const ArrayError& error) {
        auto object = error_of("ArrayError", error);
        object.attr("argument") = decoded(error.argument);
        raise(object);
    } catch (const ParameterError& error) {
        auto object = error_of("ParameterError", error);
        object.attr("argument") = decoded(error.argument);
        raise(object);
    } catch (const UnsupportedError& error) {
        auto object = error_of("UnsupportedError", error);
        object.attr("because") = error.because == UnsupportedError::Because::device ? "device" : "constraint";
        raise(object);
    } catch (const NoDeviceError& error) {
        raise(error_of("NoDeviceError", error));
    } catch (const DeviceMemoryError& error) {
        raise(error_of("DeviceMemoryError", error));
    } catch (const Error& error) {
        raise(error_of("Error", error));
    } catch (const std::bad_alloc&) {
        raise(py::module_::import("gpuopt.checked")
                  .attr("HostMemoryError")("the host's memory does not hold this; give a smaller size"));
    }
}

// `argument` of errors that Python code raises with a message alone: what stands before its first colon.
void name_the_argument(py::module_& module, const char* name) {
    const py::object type = module.attr(name);
    const auto named =
        py::module_::import("functools")
            .attr("cached_property")(py::cpp_function(
                [](const py::object& error) { return py::str(error).attr("partition")(":").attr("__getitem__")(0); },
                "The argument's name."));
    named.attr("__set_name__")(type, "argument");
    py::setattr(type, "argument", named);
}

}  // namespace

void bind_errors(py::module_& module) {
    const auto base = [](const char* name) { return py::reinterpret_borrow<py::object>(types().at(name)); };
    add(module, "Error", "Base of every error gpuopt raises.", py::reinterpret_borrow<py::object>(PyExc_Exception));
    const auto builtin = [&](PyObject* also) {
        return py::make_tuple(base("Error"), py::reinterpret_borrow<py::object>(also));
    };
    add(module, "NoDeviceError", "No OpenCL device was found, or none fits the selection; `gpuopt doctor` says why.",
        base("Error"));
    add(module, "UnsupportedError",
        "The device (`because` is 'device') or the variant's own rule ('constraint') forbids this configuration.",
        base("Error"));
    add(module, "KernelBuildError",
        "A kernel does not build: `log`, and `file` and `line` of the first error where the log names them.",
        base("Error"));
    add(module, "OpenCLError", "An OpenCL call failed: `call`, `code`, `name`.", base("Error"));
    add(module, "DeviceMemoryError", "The device cannot hold this; the message names the bytes.",
        builtin(PyExc_MemoryError));
    add(module, "ArrayError", "An array does not fit: `argument` names it, the message says the fix.",
        builtin(PyExc_ValueError));
    add(module, "ParameterError",
        "A parameter or selection is wrong: `argument` names it, the message lists what is allowed.",
        builtin(PyExc_ValueError));
    add(module, "HandleError",
        "An object of the core, such as a device or an array, was to be made by its class, copied or pickled.",
        builtin(PyExc_TypeError));
    add(module, "MismatchError", "A result differs from its reference by more than its tolerance.", base("Error"));
    name_the_argument(module, "ArrayError");
    name_the_argument(module, "ParameterError");
    py::register_local_exception_translator(&translate);
}

}  // namespace gpuopt
