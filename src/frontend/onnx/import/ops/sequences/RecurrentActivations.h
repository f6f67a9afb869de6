// The functions that recurrent layers apply to their gates.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

struct Activation {
  std::string name; // in lower case
  double alpha = 0, beta = 0;

  mlir::Value apply(ScalarMath &m, mlir::Value x) const;
};

/// The node's activations, as many for every direction as are usual. The lists of alphas and
/// betas hold numbers for those functions that take some, in their order.
llvm::SmallVector<Activation> readActivations(NodeContext &c, llvm::ArrayRef<llvm::StringRef> usual,
                                              size_t directions);

} // namespace headrace::onnx
