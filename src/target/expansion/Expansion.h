// Expansions: competing ways to compute an operator, and who chooses among them.
#pragma once

#include "analysis/Machine.h"
#include "dialect/Hr.h"

namespace headrace {

/// A call of a library's routine whose dimensions are known.
struct LibraryCall {
  llvm::StringRef routine;
  llvm::ArrayRef<int64_t> parameters;
  DType type = DType::F32; // of its first operand
  double operations = 0;   // as the operator counts them

  double parameter(size_t i) const {
    return i < parameters.size() ? static_cast<double>(parameters[i]) : 0;
  }
};

/// A way to compute a contraction, a convolution or attention: generated code, or a library's
/// routine.
class Expansion {
public:
  virtual ~Expansion() = default;
  virtual llvm::StringRef name() const = 0;
  /// Whether it can compute this operator on a machine of its target's kind.
  virtual bool applies(mlir::Operation *op, const Machine &machine) const = 0;
  /// Whether its library is here, where the program may be going to run.
  virtual bool isHere() const { return true; }
  /// The work of computing this operator, and the work of its neighbours that it adds.
  virtual Work work(mlir::Operation *op, const Machine &machine) const = 0;
  /// The work of a call that `rewrite` makes, for a step of a program; its first accesses to
  /// operands apart. Nothing if no call of this expansion has this routine.
  virtual std::optional<Work> workOfCall(const LibraryCall &call, const Machine &machine) const {
    (void)call, (void)machine;
    return std::nullopt;
  }
  /// Puts the operator into the form this expansion needs on such a machine.
  virtual void rewrite(mlir::Operation *op, const Machine &machine,
                       mlir::RewriterBase &rewriter) const = 0;
};

/// The estimate of the machine's cost model, on one core or on the whole device.
double estimatedMicroseconds(const Expansion &expansion, mlir::Operation *op,
                             const Machine &machine);

/// Attention as its products and softmax, for targets that have ways to compute those.
const Expansion &generatedAttention();

/// Chooses among the expansions that apply.
class ExpansionChooser {
public:
  virtual ~ExpansionChooser() = default;
  virtual const Expansion &choose(mlir::Operation *op,
                                  llvm::ArrayRef<const Expansion *> candidates) const = 0;
};

/// The one that takes the least time by the machine's cost model, on one core or on the whole
/// device, of those that are here.
std::unique_ptr<ExpansionChooser> makeEstimatingChooser(const Machine &machine);
/// The one of this name if it applies, else the first.
std::unique_ptr<ExpansionChooser> makeFixedChooser(llvm::StringRef name);

} // namespace headrace
