// The frame of a level-1 program that every front end writes: a module with the function `main`,
// its named inputs and outputs, its dynamic dimensions.
#pragma once

#include "frontend/common/Symbols.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace headrace {

class ProgramWriter {
public:
  /// Writes a program that serves only these sizes (see Symbols).
  ProgramWriter(mlir::MLIRContext &context, llvm::StringRef name, SizeRanges sizes = {});
  ProgramWriter(const ProgramWriter &) = delete;

  mlir::OpBuilder builder;
  Symbols symbols;
  /// The last diagnostic of MLIR: the reason why an operator was rejected.
  std::string diagnostics;

  mlir::Value addInput(llvm::StringRef name, mlir::RankedTensorType type);
  void addOutput(llvm::StringRef name, mlir::Value value);
  /// The finished program; the writer is empty afterwards.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

private:
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<std::string> resultNames;
};

} // namespace headrace
