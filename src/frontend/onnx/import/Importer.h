// An ONNX model as a module of level 1: one function `main` over the operators of dialect `hr`.
#pragma once

#include "frontend/onnx/import/TryImport.h"
#include "runtime/tensor/SizeRange.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace headrace::onnx {

/// A module, or what keeps the model from being one program: a node needs the value of an input or
/// of something computed, or supports only some sizes that no range separates from the others.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module; // null if the model depends on data
  std::optional<Unimported> dependence;
};

/// The version of the standard operators that the model uses. Throws Error if none of them can
/// be imported.
int64_t checkedOpset(const Model &model);

/// Whether a dynamic dimension has a name that means anything: exporters write some for "unknown"
/// wherever a size is dynamic, and two such sizes need not be equal.
bool isNamed(const Dim &dim);

/// Arguments and results carry the user's names, locations name the user's nodes, `hr.symbols` the
/// dynamic dimensions. Weights are used in place: the module keeps their memory alive. A node that
/// cannot be imported is an Error that names it, and the file if `fileName` is given.
///
/// If an operator is one program for some sizes and another one for others, the module is one of
/// them, and guarded (`hr.symbol_min`, `hr.symbol_max`). With `sizes` it is for those, as in
/// Symbols.
ImportedModel importModel(const Model &model, mlir::MLIRContext &context,
                          const std::string &fileName = "", const SizeRanges &sizes = {});

} // namespace headrace::onnx
