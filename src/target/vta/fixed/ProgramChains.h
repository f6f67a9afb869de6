// Chains of a program's values: which of them the accelerator can compute, and how.
#pragma once

#include "dialect/Hr.h"
#include "target/vta/fixed/Chain.h"

namespace headrace::vta {

class ProgramChains {
public:
  explicit ProgramChains(const Configuration &configuration) : configuration(configuration) {}

  /// The chain that ends in the result of an operator, 8-bit integers. Throws Unsupported.
  Chain endingIn(mlir::Operation *op);

  /// Whether maps go on with a product whose 8-bit integers they alone read, instead of having
  /// those stored: a residual is added while the product is on the chip.
  void setJoins(bool joins) { joinsProducts = joins; }

  /// The operators that were looked at for the last one.
  llvm::ArrayRef<mlir::Operation *> visited() const { return seen.getArrayRef(); }

  /// Bounds of integers in DRAM that are tighter than those of their type.
  void setRange(mlir::Value value, Range range) { ranges.insert({value, range}); }

private:
  Chain of(mlir::Value value);
  Chain computed(mlir::Operation *op);
  Chain stored(mlir::Value value);
  Chain ofMap(hr::MapOp map);
  /// Once a chain: stages of one product read what others stored.
  std::optional<Chain> joined(mlir::Value value);
  Chain ofConvolution(hr::ConvOp conv);
  Chain ofContraction(hr::ContractOp contract);
  Chain ofPool(hr::PoolOp pool);
  Chain ofReshape(hr::ReshapeOp reshape);

  const Configuration &configuration;
  bool joinsProducts = false, hasJoined = false;
  llvm::DenseMap<mlir::Value, Range> ranges;
  llvm::SmallSetVector<mlir::Operation *, 8> seen;
};

/// Whether a tensor's elements are 8-bit integers, which the accelerator reads and writes.
bool isStored(mlir::Type type);

} // namespace headrace::vta
