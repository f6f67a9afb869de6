#include "capi/Status.h"

namespace headrace::capi {

static thread_local std::string lastError;

headrace_status fail(headrace_status status, const char *message) noexcept {
  try {
    lastError = message;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

const char *lastErrorText() { return lastError.c_str(); }

headrace_status statusOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::InvalidFile:
  case ErrorKind::InvalidModel:
  case ErrorKind::InvalidScript:
    return HEADRACE_INVALID_FILE;
  case ErrorKind::Unsupported:
    return HEADRACE_UNSUPPORTED;
  case ErrorKind::InvalidArgument:
    return HEADRACE_INVALID_ARGUMENT;
  case ErrorKind::ShapeMismatch:
    return HEADRACE_SHAPE_MISMATCH;
  case ErrorKind::TypeMismatch:
    return HEADRACE_TYPE_MISMATCH;
  case ErrorKind::MissingInput:
    return HEADRACE_MISSING_INPUT;
  case ErrorKind::Io:
    return HEADRACE_IO_ERROR;
  case ErrorKind::OutOfRange:
    return HEADRACE_OUT_OF_RANGE;
  case ErrorKind::DivisionByZero:
    return HEADRACE_DIVISION_BY_ZERO;
  }
  return HEADRACE_INTERNAL_ERROR;
}

} // namespace headrace::capi
