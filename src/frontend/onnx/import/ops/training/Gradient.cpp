// Gradient (ai.onnx.preview.training): derivatives of a value of the graph by others, written by
// the rules that the operators have for it.
#include "frontend/onnx/import/ops/training/Gradient.h"

#include "dialect/gradient/Builders.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "runtime/system/Text.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// Goes backwards from a value through the operators written so far.
class Backward {
public:
  Backward(NodeContext &c, ArrayRef<Value> inputs) : c(c), active(inputs.begin(), inputs.end()) {
    for (Operation &op : *c.builder.getInsertionBlock()) {
      forward.push_back(&op);
      if (op.getNumResults() == 1 && gradient::isFloat(op.getResult(0)) && !isa<hr::DetachOp>(op) &&
          llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
        active.insert(op.getResult(0));
    }
  }

  void run(Value from) {
    contribute(from, gradient::filled(c.builder, c.loc, cast<RankedTensorType>(from.getType()), 1));
    for (Operation *op : llvm::reverse(forward)) {
      if (op->getNumResults() != 1 || !active.contains(op->getResult(0)))
        continue;
      Value given = total(op->getResult(0));
      if (!given)
        continue;
      auto rule = dyn_cast<hr::OperatorInterface>(op);
      gradient::Gradients gradients = failure();
      if (rule)
        gradients = rule.gradient(c.builder, given);
      if (failed(gradients))
        c.fail(ErrorKind::Unsupported, "{0} has no gradient", op->getName().getStringRef());
      for (auto [operand, part] : llvm::zip(op->getOperands(), *gradients))
        contribute(operand, part);
    }
  }

  /// Null if the value has no part in the result.
  Value total(Value value) {
    Value sum;
    for (Value part : contributions.lookup(value))
      sum = sum ? add(c, sum, part) : part;
    if (sum)
      contributions[value] = {sum};
    return sum;
  }

private:
  void contribute(Value value, Value part) {
    if (part && active.contains(value))
      contributions[value].push_back(part);
  }

  NodeContext &c;
  llvm::DenseSet<Value> active;
  SmallVector<Operation *> forward;
  llvm::DenseMap<Value, SmallVector<Value>> contributions;
};

} // namespace

void importGradient(NodeContext &c) {
  const Attribute *names = c.node.find("xs");
  std::string name = c.node.getString("y", "");
  Values &values = c.sharedState().values;
  if (!names || names->strings.size() != c.node.outputs.size() ||
      names->strings.size() > c.inputCount())
    c.fail(ErrorKind::InvalidModel, "attribute 'xs': expected a name for each of {0} outputs",
           c.node.outputs.size());
  if (!values.find(name) || !gradient::isFloat(values.tensor(name)))
    c.fail(ErrorKind::InvalidModel, "attribute 'y': expected a value of floats before it, got {0}",
           inQuotes(name));
  SmallVector<Value> inputs;
  for (size_t i = 0; i < names->strings.size(); ++i) {
    if (names->strings[i] != c.node.inputs[i])
      c.fail(ErrorKind::Unsupported, "expected the values of 'xs' as inputs, got {0} for {1}",
             inQuotes(c.node.inputs[i]), inQuotes(names->strings[i]));
    inputs.push_back(c.input(i, Accepts::Floats));
  }
  Backward backward(c, inputs);
  backward.run(values.tensor(name));
  for (auto [i, input] : llvm::enumerate(inputs)) {
    Value found = backward.total(input);
    auto type = cast<RankedTensorType>(input.getType());
    c.result(found ? found : gradient::filled(c.builder, c.loc, type, 0), i);
  }
}

} // namespace headrace::onnx
