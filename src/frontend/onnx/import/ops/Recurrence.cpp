#include "frontend/onnx/import/ops/Recurrence.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace::onnx {

Value writeRecurrence(OperatorBuilder &b, ValueRange sequences, Value initial, ValueRange weights,
                      function_ref<Value(const RecurrenceStep &)> next) {
  auto state = cast<RankedTensorType>(initial.getType());
  SymbolicShape shape{shapeOf(sequences.front()).front()};
  shape.append(shapeOf(state));
  auto op = b.builder.create<hr::RecurOp>(b.loc, b.checkedType(shape, state.getElementType()),
                                          sequences, initial, weights);
  SmallVector<Type> types{state};
  for (Value sequence : sequences) {
    SymbolicShape now = shapeOf(sequence);
    types.push_back(tensorType(ArrayRef(now).drop_front(),
                               cast<RankedTensorType>(sequence.getType()).getElementType()));
  }
  llvm::append_range(types, weights.getTypes());
  OpBuilder::InsertionGuard guard(b.builder);
  Block *body =
      b.builder.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), b.loc));
  ValueRange arguments = body->getArguments();
  RecurrenceStep step{arguments[0], arguments.slice(1, sequences.size()),
                      arguments.drop_front(1 + sequences.size())};
  b.builder.create<hr::YieldOp>(b.loc, next(step));
  if (failed(verify(op)))
    throw InternalError("a recurrence is not well formed");
  return op.getResult();
}

} // namespace headrace::onnx
