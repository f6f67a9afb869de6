#include "optimize/Cut.h"

#include "transform/choices/Choices.h"

#include <map>
#include <set>

using namespace mlir;

namespace headrace::optimize {

std::string nameOfValue(Value value, const OperatorNames &names) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return "argument " + std::to_string(argument.getArgNumber());
  return names.of(value.getDefiningOp()).str();
}

std::optional<Cut> cutOut(func::FuncOp entry, const OperatorNames &names,
                          const llvm::DenseSet<Operation *> &members,
                          llvm::function_ref<Operation *(Operation *)> holderOf) {
  Cut cut;
  std::map<std::string, Value> inputs, outputs; // by name: the same order before and after a step
  for (Operation *op : members) {
    if (op->getNumResults() != 1 || names.of(op).empty())
      return std::nullopt;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && (members.contains(producer) || isa<hr::ConstantOp>(producer)))
        continue;
      std::string name = nameOfValue(operand, names);
      if (name.empty())
        return std::nullopt;
      inputs[name] = operand;
    }
    auto isOutside = [&](Operation *user) { return !members.contains(user); };
    if (Operation *holder = holderOf(op); holder && llvm::any_of(op->getUsers(), isOutside))
      outputs[nameOfValue(holder->getResult(0), names)] = holder->getResult(0);
  }
  SmallVector<Type> inputTypes, outputTypes;
  for (const auto &[name, value] : inputs) {
    cut.inputs.push_back(name);
    inputTypes.push_back(value.getType());
  }
  for (const auto &[name, value] : outputs) {
    cut.outputs.push_back(name);
    outputTypes.push_back(value.getType());
  }
  OpBuilder b(entry.getContext());
  cut.program = ModuleOp::create(entry.getLoc());
  for (NamedAttribute attribute : entry->getParentOp()->getDiscardableAttrs())
    (*cut.program)->setDiscardableAttr(attribute.getName(), attribute.getValue());
  b.setInsertionPointToStart(cut.program->getBody());
  auto function = b.create<func::FuncOp>(entry.getLoc(), entry.getName(),
                                         b.getFunctionType(inputTypes, outputTypes));
  for (NamedAttribute attribute : entry->getDiscardableAttrs())
    function->setDiscardableAttr(attribute.getName(), attribute.getValue());
  std::set<std::string> shared;
  for (Operation *op : members)
    if (names.nodeOf(op) != names.of(op))
      shared.insert(names.nodeOf(op).str());
  function->setAttr(kSharedNodesAttr,
                    b.getStrArrayAttr(SmallVector<StringRef>(shared.begin(), shared.end())));
  b.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(input.second, function.getArgument(i));
    function.setArgAttr(i, kNameAttr, b.getStringAttr("in" + std::to_string(i)));
  }
  for (Operation &op : entry.getBody().front()) {
    bool isRead = isa<hr::ConstantOp>(op) && llvm::any_of(op.getUsers(), [&](Operation *user) {
                    return members.contains(user);
                  });
    if (isRead || members.contains(&op))
      b.clone(op, mapping);
  }
  SmallVector<Value> results;
  for (const auto &[name, value] : outputs)
    results.push_back(mapping.lookup(value));
  b.create<func::ReturnOp>(entry.getLoc(), results);
  return cut;
}

} // namespace headrace::optimize
