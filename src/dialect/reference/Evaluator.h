// Reference evaluation of a program at level 1, with which every compiled result is compared.
#pragma once

#include "runtime/tensor/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// Evaluates the function operator by operator in double precision. `inputs` are in the function's
/// declared types, and so are the results; with `keepDouble`, floating-point results stay in
/// DType::F64. `symbols` are the values of the program's symbolic sizes. Throws Error when the
/// inputs do not fit the function.
std::vector<Tensor> evaluateFunction(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs,
                                     llvm::ArrayRef<int64_t> symbols, bool keepDouble = false);

} // namespace headrace
