// The import of one node: its inputs and attributes, checked, and the means to write operators. A
// fault is an Error that names the node.
#pragma once

#include "frontend/common/OperatorBuilder.h"
#include "frontend/onnx/import/Values.h"
#include "frontend/onnx/read/OnnxModel.h"
#include "runtime/system/Error.h"

#include "llvm/Support/FormatVariadic.h"

namespace headrace::onnx {

/// State that all nodes of a model share.
struct ImportState {
  mlir::OpBuilder &builder;
  Symbols &symbols;
  Values &values;
  std::string &diagnostics; // what MLIR said last
  int64_t opset;
  /// Values that the node being imported asked for, and that were not known.
  std::vector<std::string> unknown = {};
};

/// Numbers are those that are computed with: 8-bit floats and less and 4-bit integers are
/// not among them.
enum class Accepts { Any, Numbers, Floats, Integers, Booleans };

class NodeContext : public OperatorBuilder {
public:
  NodeContext(const Node &node, ImportState &state);

  const Node &node;
  const int64_t opset; // of the standard domain

  // Inputs
  size_t inputCount() const { return node.inputs.size(); }
  bool has(size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  mlir::Value input(size_t i, Accepts accepts = Accepts::Any);
  /// All inputs, of one element type.
  llvm::SmallVector<mlir::Value> inputsOfOneType(Accepts accepts);
  mlir::RankedTensorType type(size_t i) const { return value(i).type; }
  SymbolicShape shape(size_t i) const { return shapeOf(value(i).type); }
  int64_t rank(size_t i) const { return value(i).type.getRank(); }
  void checkRank(size_t i, int64_t expected) const;
  void checkSameType(size_t i, size_t j) const;

  // Inputs known at import
  /// Null if the elements are not known.
  const SymbolicValue *known(size_t i) const;
  /// A tensor without data if the input is not a constant.
  const Tensor &constant(size_t i) const;
  /// A shape, position or the like, which must be known.
  const SymbolicValue &sizes(size_t i) const;
  std::vector<int64_t> integers(size_t i) const;
  /// One of them, alone.
  mlir::AffineExpr size(size_t i) const;
  int64_t knownInteger(size_t i) const;
  /// Numbers of any type that must be known, such as scales.
  std::vector<double> numbers(size_t i) const;
  /// A list that was an attribute in older versions and is an input in newer ones.
  std::optional<std::vector<int64_t>> integersOf(const char *attribute, size_t input) const;

  /// The element type of a number that ONNX gives it; a fault names the attribute.
  mlir::Type elementType(const char *attribute, int64_t otherwise) const;

  // Axes, counted from the end when negative
  int64_t axis(int64_t axis, int64_t rank) const;
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> list, int64_t rank) const;

  // Results
  void result(mlir::Value tensor, size_t i = 0);
  void result(const Tensor &constant, size_t i = 0);
  void result(const SymbolicValue &known, size_t i = 0);
  /// The first result is the first input, whatever is known of it.
  void resultIsInput();

  /// For nodes with graphs in them.
  ImportState &sharedState() { return state; }

  // Errors
  /// "input 1 ('weights')"
  std::string nameOfInput(size_t i) const;

private:
  const ImportedValue &value(size_t i) const;
  void checkElementType(size_t i, Accepts accepts) const;
  void noteUnknown(size_t i) const { state.unknown.push_back(node.inputs[i]); }

  ImportState &state;
};

} // namespace headrace::onnx
