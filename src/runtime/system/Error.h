#pragma once

#include <stdexcept>
#include <string>

namespace headrace {

/// What kind of mistake an Error reports; Python has an exception class for each.
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

/// A user's mistake. The message names the user's thing: "expected X, got Y".
class Error : public std::runtime_error {
public:
  Error(ErrorKind kind, std::string message);
  ErrorKind kind() const { return errorKind; }

private:
  ErrorKind errorKind;
};

/// A defect of Headrace: a broken invariant; the message asks for a report.
class InternalError : public std::logic_error {
public:
  explicit InternalError(const std::string &message);
};

} // namespace headrace
