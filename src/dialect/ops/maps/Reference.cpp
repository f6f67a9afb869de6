// Reference evaluation of maps.
#include "dialect/scalar/ScalarBody.h"
#include "runtime/system/Interruption.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

/// Elements evaluated at once: many enough to forget the walk over the body, few enough to stay in
/// the caches.
static constexpr int64_t kBlock = 4096;

Tensor MapOp::evaluate(Tensors inputs, Sizes symbols) {
  Tensor result = allocateResult(getResult(), symbols);
  SmallVector<Tensor> operands;
  for (const Tensor &input : inputs)
    operands.push_back(broadcastTo(input, result.shape()));
  Block &body = getBody().front();
  Type yielded = body.getTerminator()->getOperand(0).getType();
  for (int64_t begin = 0; begin < result.elements(); begin += kBlock) {
    pollInterruption();
    int64_t count = std::min(kBlock, result.elements() - begin);
    std::vector<Lanes> arguments;
    for (auto [operand, argument] : llvm::zip(operands, body.getArguments()))
      arguments.push_back(loadLanes(operand, argument.getType(), begin, count));
    storeLanes(evaluateBody(body, std::move(arguments), count, symbols), yielded, result, begin);
  }
  return result;
}

} // namespace headrace::hr
