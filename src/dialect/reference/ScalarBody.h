// A scalar body evaluated operation by operation, each over many elements at once.
#pragma once

#include "dialect/reference/Lanes.h"

namespace headrace::reference {

/// Values that a body reads although they are defined outside of it.
class OuterValues {
public:
  virtual ~OuterValues() = default;
  /// The scalar, as one lane.
  virtual const Lanes &scalar(mlir::Value value) const = 0;
  virtual const Tensor &tensor(mlir::Value value) const = 0;
};

/// Follows the evaluation of a body and may change its values.
class ScalarObserver {
public:
  virtual ~ScalarObserver() = default;
  /// Called after each operation of the body.
  virtual void changeScalar(mlir::Operation &op, Lanes &result) = 0;
};

/// The surroundings that a body reads in addition to its scalars.
struct BodySurroundings {
  /// Position along each dimension of the domain.
  std::vector<Lanes> positions;
  /// The tables, as the last arguments of the body of a compute.
  Tensors tables;
  /// Null if the body reads its arguments alone.
  const OuterValues *outer = nullptr;
  /// May be null.
  ScalarObserver *observer = nullptr;
};

/// The value the body yields for these arguments.
Lanes evaluateBody(mlir::Block &body, std::vector<Lanes> arguments, int64_t count, Sizes symbols,
                   const BodySurroundings &surroundings = {});

/// All values the body yields for these arguments.
std::vector<Lanes> evaluateYields(mlir::Block &body, std::vector<Lanes> arguments, int64_t count,
                                  Sizes symbols, const BodySurroundings &surroundings);

/// The result of a map for these operands; `observer` may be null.
Tensor evaluateMap(hr::MapOp map, Tensors operands, Sizes symbols, ScalarObserver *observer);

/// The result, one lane, of an operation on scalars that is not in a body.
Lanes evaluateScalar(mlir::Operation *op, Sizes symbols, const OuterValues &values);

} // namespace headrace::reference
