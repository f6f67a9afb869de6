#include "target/expansion/LibraryContraction.h"

using namespace mlir;

namespace headrace {

void LibraryContraction::rewrite(Operation *operation, const Machine &,
                                 RewriterBase &rewriter) const {
  auto op = cast<hr::ContractOp>(operation);
  MatrixProduct p = *asMatrixProduct(op);
  MLIRContext *context = op.getContext();
  auto number = [&](int64_t value) { return constantDim(value, context); };
  AffineExpr zero = number(0);
  SmallVector<AffineExpr> parameters{p.batch,
                                     p.m,
                                     p.n,
                                     p.k,
                                     number(p.transposeA),
                                     number(p.transposeB),
                                     p.batchedA ? p.m * p.k : zero,
                                     p.batchedB ? p.k * p.n : zero,
                                     p.m * p.n,
                                     p.transposeA ? p.m : p.k,
                                     p.transposeB ? p.k : p.n,
                                     p.n};
  llvm::append_range(parameters, furtherParameters(op));
  auto type = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  AffineExpr bytesRead = byteCount(type(op.getLhs())) + byteCount(type(op.getRhs()));
  AffineMap cost = symbolMap(
      {bytesRead, byteCount(type(op.getResult())), op.getMovement().operations(context)}, context);
  std::string name = operatorName(op);
  rewriter.setInsertionPoint(op);
  rewriter.replaceOpWithNewOp<hr::LibraryOp>(
      op, op.getType(), ValueRange{op.getLhs(), op.getRhs()}, rewriter.getStringAttr(routine(op)),
      AffineMapAttr::get(symbolMap(parameters, context)), rewriter.getStringAttr(name),
      rewriter.getStrArrayAttr({name}), AffineMapAttr::get(cost));
}

Work LibraryContraction::callWork(const ProductShape &shape, DType type) {
  Work work;
  work.kernelCalls = 0;
  work.libraryCalls = 1;
  work.librarySide = shape.side();
  work.arithmetic.push_back({OperationKind::Product, type, shape.operations()});
  work.parts = shape.batch * std::ceil(shape.rows / 64) * std::ceil(shape.columns / 64);
  return work;
}

ProductShape LibraryContraction::shapeOfCall(const LibraryCall &call) {
  auto size = [&](size_t i) { return std::max(call.parameter(i), 1.0); };
  return {.batch = size(0), .rows = size(1), .columns = size(2), .depth = size(3)};
}

void LibraryContraction::addMovement(Work &work, Operation *op) {
  SizeHints sizes = sizeHints(op);
  double result = bytesAtHints(op->getResult(0), sizes), whole = result;
  for (Value operand : op->getOperands())
    whole += bytesAtHints(operand, sizes);
  work.move(whole, whole);
  if (op->hasOneUse()) {
    work.move(2 * result, 2 * result);
    work.kernelCalls += 1;
  }
}

} // namespace headrace
