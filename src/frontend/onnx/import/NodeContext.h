// What the import of one node works with: its inputs and attributes, checked, and the means to
// write operators. Whatever is wrong is an Error that names the node.
#pragma once

#include "dialect/Hr.h"
#include "frontend/onnx/OnnxModel.h"
#include "frontend/onnx/import/ScalarMath.h"
#include "frontend/onnx/import/Symbols.h"
#include "frontend/onnx/import/Values.h"
#include "runtime/Error.h"

#include "llvm/Support/FormatVariadic.h"

namespace headrace::onnx {

/// What is shared by all nodes of a model.
struct ImportState {
  mlir::OpBuilder &builder;
  Symbols &symbols;
  Values &values;
  std::string &diagnostics; // what MLIR said last
  int64_t opset;
};

enum class Accepts { Any, Numbers, Floats, Booleans };

class NodeContext {
public:
  NodeContext(const Node &node, ImportState &state);

  const Node &node;
  const int64_t opset;
  mlir::OpBuilder &builder;
  const mlir::Location loc;
  mlir::MLIRContext *const context;

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
  /// Null where the elements are not known.
  const SymbolicValue *known(size_t i) const;
  /// A tensor without data where the input is no constant.
  const Tensor &constant(size_t i) const { return value(i).constant; }
  /// A shape, position or the like, which must be known.
  const SymbolicValue &sizes(size_t i) const;
  std::vector<int64_t> integers(size_t i) const;
  /// A list that was an attribute in older versions and is an input in newer ones.
  std::optional<std::vector<int64_t>> integersOf(const char *attribute, size_t input) const;

  // Axes, counted from the end when negative
  int64_t axis(int64_t axis, int64_t rank) const;
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> list, int64_t rank) const;

  // Results
  void result(mlir::Value tensor, size_t i = 0);
  void result(const Tensor &constant, size_t i = 0);
  void result(const SymbolicValue &known, size_t i = 0);
  /// The first result is the first input, whatever is known of it.
  void resultIsInput();

  // Operators
  /// An operator whose result type follows from its operands.
  template <class Op, class... Args> mlir::Value infer(Args &&...args) {
    mlir::OperationState op(loc, Op::getOperationName());
    // The builder that infers would end the process where the rule is not met.
    Op::build(builder, op, builder.getIndexType(), std::forward<Args>(args)...);
    op.types.clear();
    if (failed(Op::inferReturnTypes(context, loc, op.operands, op.attributes.getDictionary(context),
                                    op.getRawProperties(), mlir::RegionRange(op.regions),
                                    op.types)))
      failWithDiagnostics();
    return checked(builder.create(op));
  }
  /// An operator whose result type is given first.
  template <class Op, class... Args> mlir::Value create(Args &&...args) {
    return checked(builder.create<Op>(loc, std::forward<Args>(args)...));
  }
  using Formula = llvm::function_ref<mlir::Value(ScalarMath &, mlir::ValueRange)>;
  mlir::Value map(mlir::ValueRange inputs, Formula formula);
  mlir::Value cast(mlir::Value tensor, mlir::Type elementType);
  mlir::Value reshape(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value broadcast(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value transpose(mlir::Value tensor, llvm::ArrayRef<int64_t> permutation);
  mlir::Value reduce(hr::ReduceKind kind, mlir::Value tensor, llvm::ArrayRef<int64_t> axes,
                     bool keepDims);
  /// A constant of rank 0.
  mlir::Value scalar(double value, mlir::Type elementType);

  // Sizes
  mlir::AffineExpr dim(int64_t size) const { return constantDim(size, context); }
  /// Number of elements of these dimensions.
  mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// Restricts free sizes so that the expression is not negative; fails where that is impossible.
  void requireNonNegative(mlir::AffineExpr expr, const char *what);
  bool tryRequireNonNegative(mlir::AffineExpr expr);
  /// The type, once its sizes are found to be neither negative nor absurd.
  mlir::RankedTensorType checkedType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type type) const;
  std::string text(llvm::ArrayRef<mlir::AffineExpr> dims) const { return state.symbols.text(dims); }

  // Errors
  /// "input 1 ('weights')"
  std::string nameOfInput(size_t i) const;
  template <class... Args>
  [[noreturn]] void fail(ErrorKind kind, const char *format, Args &&...args) const {
    throw Error(kind,
                node.describe() + ": " + llvm::formatv(format, std::forward<Args>(args)...).str());
  }

private:
  const ImportedValue &value(size_t i) const;
  void checkElementType(size_t i, Accepts accepts) const;
  void checkSizes(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type type) const;
  mlir::Value checked(mlir::Operation *op);
  [[noreturn]] void failWithDiagnostics() const;

  ImportState &state;
};

/// "i64", "f32" for messages.
std::string typeText(mlir::Type type);

} // namespace headrace::onnx
