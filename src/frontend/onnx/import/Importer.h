// An ONNX model as a module of level 1: one function `main` over the operators of dialect `hr`.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace headrace::onnx {

/// Arguments and results carry the user's names, locations name the user's nodes, `hr.symbols` the
/// free sizes. Weights are used in place: the module keeps their memory alive. A node that cannot
/// be imported is an Error that names it, and the file if `fileName` is given.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const Model &model, mlir::MLIRContext &context,
                                              const std::string &fileName = "");

} // namespace headrace::onnx
