// Shape arithmetic: operators on integers known at import. Results that cannot be expressed by the
// dynamic dimensions are left to the operators on data.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx::shapes {

using Known = std::optional<SymbolicValue>;

Known add(NodeContext &);
Known sub(NodeContext &);
Known mul(NodeContext &);
Known div(NodeContext &);
Known mod(NodeContext &);
Known neg(NodeContext &);
Known min(NodeContext &);
Known max(NodeContext &);
Known equal(NodeContext &);
Known greater(NodeContext &);
Known less(NodeContext &);
Known logicalNot(NodeContext &);
Known where(NodeContext &);
Known cast(NodeContext &);
Known concat(NodeContext &);
Known gather(NodeContext &);
Known slice(NodeContext &);
Known transpose(NodeContext &);
Known expand(NodeContext &);
Known range(NodeContext &);
Known reduceProd(NodeContext &);
Known reduceSum(NodeContext &);
/// The input's elements under a shape computed by the operator's own rule.
Known reshaped(NodeContext &, const SymbolicShape &dims);

// Building blocks of the operators.

// Bounds that keep sums and products of known numbers from overflowing.
inline constexpr int64_t kMaxFactor = int64_t(1) << 31;
inline constexpr int64_t kMaxTerm = int64_t(1) << 61;

using Element = std::optional<mlir::AffineExpr>;
using BinaryRule = Element (*)(mlir::AffineExpr, mlir::AffineExpr);
Element sum(mlir::AffineExpr a, mlir::AffineExpr b);
Element product(mlir::AffineExpr a, mlir::AffineExpr b);

/// The sizes as numbers; nullopt if one is dynamic or negative or there are too many elements.
std::optional<Shape> constantShape(llvm::ArrayRef<mlir::AffineExpr> dims);
llvm::SmallVector<SymbolicValue> allInputs(NodeContext &c);
/// Repeats the values to the broadcast shape of all; false if they do not fit.
bool broadcastAll(NodeContext &c, llvm::MutableArrayRef<SymbolicValue> values);

} // namespace headrace::onnx::shapes
