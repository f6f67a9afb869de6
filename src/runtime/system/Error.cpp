#include "runtime/system/Error.h"

namespace headrace {

const char *kindName(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::InvalidFile:
    return "invalid file";
  case ErrorKind::InvalidModel:
    return "invalid model";
  case ErrorKind::InvalidScript:
    return "invalid script";
  case ErrorKind::Unsupported:
    return "unsupported";
  case ErrorKind::InvalidArgument:
    return "invalid argument";
  case ErrorKind::ShapeMismatch:
    return "shape mismatch";
  case ErrorKind::TypeMismatch:
    return "type mismatch";
  case ErrorKind::MissingInput:
    return "missing input";
  case ErrorKind::Io:
    return "input/output error";
  case ErrorKind::OutOfRange:
    return "out of range";
  case ErrorKind::DivisionByZero:
    return "division by zero";
  }
  return "error";
}

Error::Error(ErrorKind kind, std::string message) : std::runtime_error(message), errorKind(kind) {}

InternalError::InternalError(const std::string &message)
    : std::logic_error(message + " (this is a bug in Headrace; please report it)") {}

} // namespace headrace
