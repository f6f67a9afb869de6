// One step of a recurrent layer: the next states of an element from its gates.
#pragma once

#include "frontend/common/Compute.h"
#include "frontend/onnx/import/ops/sequences/ByteWeights.h"
#include "frontend/onnx/import/ops/sequences/RecurrentActivations.h"

namespace headrace::onnx {

struct Cell {
  int64_t gates, states;
  llvm::SmallVector<llvm::StringRef> activations;
};

extern const Cell kRnn, kGru, kLstm;

/// The values of a step in the body of the recurrence. Gates hold what the inputs give, `state`
/// what the last step left. `extra`: the peepholes of an LSTM, or the bias that a GRU resets.
struct CellStep {
  mlir::Value state, gates;
  ByteWeights recurrent; // `numbers` alone if they are not int8 weights
  mlir::Value extra;
  int64_t direction;
  mlir::Value number = {}, lengths = {};
};

class CellWriter {
public:
  /// `hasBytes`: states are rounded to bytes of their own range before they are multiplied.
  CellWriter(NodeContext &c, const Cell &cell, mlir::AffineExpr batch, mlir::AffineExpr hidden,
             int64_t directions, bool hasBytes);

  /// [states, batch, hidden]
  mlir::Value next(const CellStep &step);
  bool isLinearBeforeReset() const;

private:
  mlir::Value activated(ScalarMath &m, int64_t direction, size_t function, mlir::Value x) const;
  mlir::Value stateGates(const CellStep &step);
  mlir::Value byteGates(const CellStep &step);
  Compute overStates(const CellStep &step, mlir::Value stateGates);
  mlir::Value gate(PointMath &m, int64_t i) const;
  mlir::Value state(PointMath &m, int64_t i) const;
  mlir::Value unlessEnded(PointMath &m, const CellStep &step, mlir::Value next) const;
  mlir::Value nextLstm(const CellStep &step, mlir::Value fromState);
  mlir::Value nextGru(const CellStep &step, mlir::Value fromState);
  mlir::Value resetProduct(const CellStep &step, mlir::Value fromState);

  NodeContext &c;
  const Cell &cell;
  const mlir::AffineExpr batch, hidden;
  const bool hasBytes;
  llvm::SmallVector<Activation> activations;
  std::optional<double> clip;
};

} // namespace headrace::onnx
