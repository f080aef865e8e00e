// Objects of the core are made whole or not at all: `__new__` of pybind11 makes one without a C++ object, and methods
// would read what happens to lie there.
#include "bindings/topics.hpp"

namespace gpuopt {
namespace py = pybind11;
namespace {

newfunc make_bare = nullptr;
PyObject* handle_error = nullptr;

// pybind11's own `__init__`, which raises, is a wrapper of a slot; a bound constructor is a function.
bool has_constructor(const PyTypeObject* type) {
    auto* const found = PyDict_GetItemString(type->tp_dict, "__init__");
    return found && Py_TYPE(found) != &PyWrapperDescr_Type;
}

// Python lets `cls.__new__(cls)` call nothing but the class's own tp_new, and the `__new__` that classes inherit has
// another: with this one in its place, calls of the class alone come here, and these go on to the constructor.
PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* named) {
    if (has_constructor(type)) return make_bare(type, arguments, named);
    PyErr_Format(handle_error, "%s: it cannot be made like this; other calls return such objects", type->tp_name);
    return nullptr;
}

// Python's own for the oldest pickles makes an object of pybind11's base class, which ends the process.
py::object refuse_pickle(const py::object& self, const py::args&) {
    PyErr_Format(handle_error, "%s: it is of this process and can be neither copied nor pickled",
                 Py_TYPE(self.ptr())->tp_name);
    throw py::error_already_set();
}

}  // namespace

void bind_handles(py::module_& module) {
    handle_error = py::object(module.attr("HandleError")).release().ptr();
    for (const auto& item : module.attr("__dict__").cast<py::dict>()) {
        if (!PyType_Check(item.second.ptr()) || PyExceptionClass_Check(item.second.ptr())) continue;
        auto* const type = reinterpret_cast<PyTypeObject*>(item.second.ptr());
        make_bare = type->tp_new;
        type->tp_new = make;
        const py::handle cls(item.second);
        for (const char* const name : {"__reduce_ex__", "__reduce__"})
            py::setattr(cls, name, py::cpp_function(refuse_pickle, py::name(name), py::is_method(cls)));
        type->tp_flags &= ~Py_TPFLAGS_BASETYPE;  // the check above is of the classes themselves
        PyType_Modified(type);
    }
}

}  // namespace gpuopt
