#pragma once

#include <stdexcept>
#include <string>

namespace headrace {

enum class ErrorKind {
  InvalidFile,
  InvalidModel,
  InvalidScript,
  Unsupported,
  InvalidArgument,
  ShapeMismatch,
  TypeMismatch,
  MissingInput,
  Io,
  OutOfRange,
  DivisionByZero
};

/// The kind as users and the Python face see it: "invalid file", "shape mismatch", ...
const char *kindName(ErrorKind kind);

/// The user's mistake: the message names the user's thing, what was expected and what was found.
class Error : public std::runtime_error {
public:
  Error(ErrorKind kind, std::string message);
  ErrorKind kind() const { return errorKind; }

private:
  ErrorKind errorKind;
};

/// Our mistake: a broken invariant; the message asks for a report.
class InternalError : public std::logic_error {
public:
  explicit InternalError(const std::string &message);
};

} // namespace headrace
