// Writes operators of level 1 for a front end: result types inferred, sizes bounded, every fault an
// Error that names what the user wrote.
#pragma once

#include "dialect/Hr.h"
#include "dialect/scalar/ScalarMath.h"
#include "frontend/common/Symbols.h"
#include "runtime/system/Error.h"

#include "llvm/Support/FormatVariadic.h"

namespace headrace {

class OperatorBuilder {
public:
  /// `diagnostics` holds what MLIR said last (see ProgramWriter); `subject` names the user's thing.
  OperatorBuilder(mlir::OpBuilder &builder, Symbols &symbols, const std::string &diagnostics,
                  mlir::Location loc, std::string subject);

  mlir::OpBuilder &builder;
  const mlir::Location loc;
  mlir::MLIRContext *const context;

  // Operators
  /// An operator whose result type follows from its operands.
  template <class Op, class... Args> mlir::Value infer(Args &&...args) {
    mlir::OperationState op(loc, Op::getOperationName());
    // The builder that infers would end the process if the rule is not met.
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
  /// Every `steps`-th element from `starts` on, as many as `sizes` says.
  mlir::Value slice(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> starts,
                    llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<int64_t> steps);
  mlir::Value reduce(hr::ReduceKind kind, mlir::Value tensor, llvm::ArrayRef<int64_t> axes,
                     bool keepDims);
  /// The indices, divisors or targets, checked when the program runs (`hr.check`) unless all of
  /// them are known to be allowed; ones that are known not to be are an Error at once.
  mlir::Value checkedIndices(mlir::Value indices, mlir::AffineExpr low, mlir::AffineExpr high);
  /// Like the function above, for indices in [0, high) or equal to `unread`; errors name `reader`.
  mlir::Value checkedIndices(mlir::Value indices, mlir::AffineExpr high,
                             std::optional<int64_t> unread, const std::string &reader);
  mlir::Value checkedDivisor(mlir::Value divisor);
  mlir::Value checkedTargets(mlir::Value targets, mlir::AffineExpr classes, int64_t excepted);
  mlir::Value constant(const Tensor &tensor);
  /// A constant of rank 0.
  mlir::Value scalar(double value, mlir::Type elementType);
  /// A size to compute with, of rank 0.
  mlir::Value sizeAsData(mlir::AffineExpr size, mlir::Type elementType);

  // Sizes
  mlir::AffineExpr dim(int64_t size) const { return constantDim(size, context); }
  /// Number of elements of these dimensions.
  mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// Restricts dynamic dimensions so that the expression is not negative; fails if that is
  /// impossible.
  void requireNonNegative(mlir::AffineExpr expr, const char *what);
  bool tryRequireNonNegative(mlir::AffineExpr expr);
  /// Whether the expression is negative for all sizes that the program is meant for.
  bool isNegative(mlir::AffineExpr expr) const { return symbols.isNegative(expr); }
  /// Whether the expression is not negative, for all sizes that the program is meant for from here
  /// on (see Symbols); fails if that depends on several of them.
  bool decideNonNegative(mlir::AffineExpr expr, const char *what);
  /// The type, once its sizes are found to be neither negative nor absurd.
  mlir::RankedTensorType checkedType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type type) const;
  std::string text(llvm::ArrayRef<mlir::AffineExpr> dims) const { return symbols.text(dims); }

  // Errors
  template <class... Args>
  [[noreturn]] void fail(ErrorKind kind, const char *format, Args &&...args) const {
    throw Error(kind, subject + ": " + llvm::formatv(format, std::forward<Args>(args)...).str());
  }

private:
  void checkSizes(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type type) const;
  mlir::Value checked(mlir::Operation *op);
  mlir::Value checkedValues(hr::CheckKind kind, mlir::Value values, mlir::AffineExpr low,
                            mlir::AffineExpr high, std::optional<int64_t> excepted,
                            const std::string &who);
  [[noreturn]] void failWithDiagnostics() const;
  [[noreturn]] void failNegative(mlir::AffineExpr expr, const char *what) const;

  Symbols &symbols;
  const std::string &diagnostics;
  const std::string subject;
};

/// A size to compute with, of rank 0: read in a map.
mlir::Value createSizeAsData(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineExpr size,
                             mlir::Type elementType);

/// The constant as an operator.
mlir::Value createConstant(mlir::OpBuilder &builder, mlir::Location loc, const Tensor &tensor);

/// "i64", "f32" for messages.
std::string typeText(mlir::Type type);

} // namespace headrace
