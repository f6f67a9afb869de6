// Work of a kernel, a library's routine or an operator, in numbers: the bytes that it moves, by
// where they come from, and its operations, by kind. A cost model says how long that takes.
#pragma once

#include "analysis/cost/Rates.h"

namespace headrace {

struct Work {
  /// Data that goes through the core.
  struct Stream {
    double bytes = 0;
    /// The data among which it is found: what is touched between two uses of it.
    double workingSet = 0;
    /// The operand that it is the first access to, by number; -1 for what is read again.
    int operand = -1;
  };
  struct Arithmetic {
    OperationKind kind = OperationKind::Simple;
    DType type = DType::F32;
    double operations = 0;
    /// The share of the kind's speed that loops reach.
    double efficiency = 1;
  };

  /// A product whose operands and result all lie in memory: what bounds its movement from below
  /// (LeastMovement.h).
  struct Reuse {
    double points = 0;       // multiply-adds
    double positions = 1;    // of a window, over which a product of matrices is summed
    double elementBytes = 4; // of the smallest of the three
  };

  std::vector<Stream> streams;
  std::vector<Arithmetic> arithmetic;
  std::vector<Reuse> reuse;
  /// Parts that threads share.
  double parts = 1;
  int kernelCalls = 1;
  /// Calls of a library's routine: products are at its speed then.
  int libraryCalls = 0;
  /// How large those products are: their smallest side.
  double librarySide = 0;

  double bytes() const;
  double operations() const;
  /// Adds reads or writes of `bytes` bytes out of a working set of `workingSet` bytes.
  void move(double bytes, double workingSet) { streams.push_back({bytes, workingSet, -1}); }
};

} // namespace headrace
