// Reference evaluation of maps.
#include "dialect/reference/ScalarBody.h"
#include "runtime/system/Interruption.h"

using namespace mlir;
using namespace headrace::reference;

/// Elements evaluated at once: many enough to forget the walk over the body, few enough to stay in
/// the caches.
static constexpr int64_t kBlock = 4096;

namespace headrace::hr {

Tensor MapOp::evaluate(Tensors inputs, Sizes symbols) {
  return evaluateMap(*this, inputs, symbols, /*observer=*/nullptr);
}

} // namespace headrace::hr

namespace headrace::reference {

Tensor evaluateMap(hr::MapOp map, Tensors inputs, Sizes symbols, ScalarObserver *observer) {
  Tensor result = allocateResult(map.getResult(), symbols);
  SmallVector<Tensor> operands;
  for (const Tensor &input : inputs)
    operands.push_back(broadcastTo(input, result.shape()));
  BodySurroundings surroundings;
  surroundings.observer = observer;
  Block &body = map.getBody().front();
  Type yielded = body.getTerminator()->getOperand(0).getType();
  for (int64_t begin = 0; begin < result.elements(); begin += kBlock) {
    pollInterruption();
    int64_t count = std::min(kBlock, result.elements() - begin);
    std::vector<Lanes> arguments;
    for (auto [operand, argument] : llvm::zip(operands, body.getArguments()))
      arguments.push_back(loadLanes(operand, argument.getType(), begin, count));
    Lanes values = evaluateBody(body, std::move(arguments), count, symbols, surroundings);
    storeLanes(values, yielded, result, begin);
  }
  return result;
}

} // namespace headrace::reference
