#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"

#include "Bindings.h"
#include <cstring>

namespace nb = nanobind;

namespace headrace::python {

namespace {

const char *classOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::InvalidFile:
    return "InvalidFileError";
  case ErrorKind::InvalidModel:
    return "InvalidModelError";
  case ErrorKind::InvalidScript:
    return "InvalidScriptError";
  case ErrorKind::Unsupported:
    return "UnsupportedError";
  case ErrorKind::InvalidArgument:
    return "InvalidArgumentError";
  case ErrorKind::ShapeMismatch:
    return "ShapeMismatchError";
  case ErrorKind::TypeMismatch:
    return "TypeMismatchError";
  case ErrorKind::MissingInput:
    return "MissingInputError";
  case ErrorKind::Io:
    return "IoError";
  case ErrorKind::OutOfRange:
    return "OutOfRangeError";
  case ErrorKind::DivisionByZero:
    return "DivisionByZeroError";
  }
  return "Error";
}

// Messages quote names from files, which need not be UTF-8.
void raise(const char *className, const char *message) {
  try {
    nb::object type = nb::module_::import_("headrace.errors").attr(className);
    nb::object text = nb::steal(
        PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace"));
    PyErr_SetObject(type.ptr(), text.ptr());
  } catch (nb::python_error &error) {
    error.restore();
  }
}

void translate(const std::exception_ptr &exception, void *) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error &error) {
    raise(classOf(error.kind()), error.what());
  } catch (const InternalError &error) {
    raise("InternalError", error.what());
  } catch (const Interrupted &) {
    raise("TerminatedError", "the run was ended, because its RunOptions.terminate was set");
  }
}

} // namespace

void registerErrors() { nb::register_exception_translator(translate); }

} // namespace headrace::python
