// Errors that only data can show: indices outside their tensor, divisors of 0, classes that do not
// exist. A check is a step of a program like a library call, because kernels cannot raise errors.
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"
#include "runtime/tensor/DType.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A condition on the elements of a tensor of integers.
struct ValueCheck {
  enum class Kind {
    Index,   // in [low, high), or `excepted`, which stands for one that is not read
    Divisor, // not 0
    Target   // in [low, high), or `excepted`, which the user gave
  };
  Kind kind = Kind::Index;
  std::string_view subject; // whom an error names: "node 'embed' (Gather)"
  int64_t low = 0, high = 0;
  std::optional<int64_t> excepted;

  bool allows(int64_t value) const {
    if (kind == Kind::Divisor)
      return value != 0;
    return (value >= low && value < high) || value == excepted;
  }
};

/// An element that a check does not allow.
struct Violation {
  int64_t position = 0; // in row-major order
  int64_t value = 0;
};

/// The first element that is not allowed. The pool may be null, for the calling thread alone.
std::optional<Violation> firstViolation(const ValueCheck &check, DType type, const void *data,
                                        int64_t count, ThreadPool *pool);

/// "node 'embed' (Gather): index 50 at [3, 1] is outside [-30522, 30522)"
[[noreturn]] void throwViolation(const ValueCheck &check, const Violation &violation,
                                 std::span<const int64_t> shape);

/// Checks as steps, "check.index", "check.divisor" and "check.target": the operand is a tensor of
/// integers, the step's name is the subject, and the parameters are the element's DType, low, high,
/// 1 if there is an exception (else 0), the exception, and the tensor's sizes.
struct CheckStep {
  ValueCheck check;
  DType type = DType::I64;
  std::span<const int64_t> shape;
  int64_t count = 1; // of elements
};
bool isCheck(const Step &step);
const char *checkSymbol(ValueCheck::Kind kind);
std::vector<DimExpr> checkParameters(DType type, DimExpr low, DimExpr high,
                                     std::optional<int64_t> excepted,
                                     const std::vector<DimExpr> &dims);
/// Throws InternalError if the step is not a sound check.
CheckStep readCheckStep(const Step &step, std::span<const int64_t> parameters);

/// The fault in such a step's parameters for an operand of that many bytes; empty for a sound step.
std::string checkStepFault(std::span<const int64_t> parameters,
                           std::span<const int64_t> operandBytes);

/// The routine behind those steps (see Library.h). Throws Error.
void runCheckStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                  ThreadPool &pool);

} // namespace headrace
