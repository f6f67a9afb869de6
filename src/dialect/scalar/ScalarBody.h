// A scalar body evaluated operation by operation, each over many elements at once.
#pragma once

#include "dialect/reference/Reference.h"

namespace headrace::reference {

/// One scalar of a body for many elements: `floats` or, sign-extended, `integers` is filled.
struct Lanes {
  std::vector<double> floats;
  std::vector<int64_t> integers;
};

/// Elements [begin, begin + count) of a tensor of this declared type, and back.
Lanes loadLanes(const Tensor &tensor, mlir::Type elementType, int64_t begin, int64_t count);
void storeLanes(const Lanes &lanes, mlir::Type elementType, Tensor &tensor, int64_t begin);

/// The surroundings that the body of a compute reads beside its scalars.
struct BodySurroundings {
  /// Position along each dimension of the domain.
  std::vector<Lanes> positions;
  /// The tables, as the last arguments of the body.
  Tensors tables;
};

/// The value the body yields for these arguments.
Lanes evaluateBody(mlir::Block &body, std::vector<Lanes> arguments, int64_t count, Sizes symbols,
                   const BodySurroundings &surroundings = {});

} // namespace headrace::reference
