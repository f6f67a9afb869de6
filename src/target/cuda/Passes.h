// Passes of the CUDA target.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace headrace {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "target/cuda/Passes.h.inc"

} // namespace headrace
