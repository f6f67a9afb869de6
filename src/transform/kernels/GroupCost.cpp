#include "transform/kernels/GroupCost.h"

#include <algorithm>

using namespace mlir;

namespace headrace {

/// Blocks of rows that a walking kernel is about cut into, where something is combined over them.
static constexpr double kBlocks = 32;

GroupCost::GroupCost(func::FuncOp program, const KernelRules &rules, const Machine &machine)
    : machine(machine), sizes(rules.sizes) {
  for (Value argument : program.getArguments())
    programBytes += bytesOf(argument);
  for (Operation &op : program.getBody().front().without_terminator())
    for (Value result : op.getResults())
      programBytes += bytesOf(result);
}

double GroupCost::bytesOf(Value value) {
  auto [known, isNew] = bytes.try_emplace(value, 0);
  if (isNew)
    known->second = isa<RankedTensorType>(value.getType()) ? nominalBytes(value, sizes) : 0;
  return known->second;
}

const Work &GroupCost::alone(hr::OperatorInterface op) {
  auto known = works.find(op);
  if (known == works.end())
    known = works.try_emplace(op, headrace::workOf(op, sizes)).first;
  return known->second;
}

/// What is read lies in memory where it is an input of the program or a weight; what another kernel
/// computed was written shortly before, by a kernel that moved about as much as this one.
Work GroupCost::workOf(ArrayRef<hr::OperatorInterface> operators,
                       llvm::function_ref<bool(Operation *)> isInside) {
  Work work;
  work.parts = alone(operators.front()).parts;
  double total = 0;
  llvm::SmallDenseSet<Value, 8> read;
  auto move = [&](Value value, bool isFar) {
    work.move(bytesOf(value), isFar ? programBytes : 0);
    total += bytesOf(value);
  };
  for (hr::OperatorInterface op : operators) {
    for (Value result : op->getResults())
      if (!llvm::all_of(result.getUsers(), isInside))
        move(result, /*isFar=*/false);
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if ((!producer || !isInside(producer)) && read.insert(operand).second)
        move(operand, !producer || isa<hr::ConstantOp>(producer));
    }
    llvm::append_range(work.arithmetic, alone(op).arithmetic);
  }
  for (Work::Stream &stream : work.streams)
    if (stream.workingSet == 0)
      stream.workingSet = std::min(2 * total, programBytes);
  return work;
}

double GroupCost::of(const KernelGroup &group) {
  ArrayRef<hr::OperatorInterface> operators = group.getOperators();
  Work work = workOf(operators, [&](Operation *op) { return group.contains(op); });
  if (std::optional<int> walk = group.walkAxis()) {
    work.parts = static_cast<double>(nominal(group.getAxes()[*walk].size, sizes));
    // Each block of rows leaves a partial result, and one more kernel combines them.
    for (hr::OperatorInterface op : operators)
      if (group.accumulates(op)) {
        double cells = bytesOf(op->getResult(0)) * std::min(work.parts, kBlocks);
        work.move(2 * cells, cells);
        work.kernelCalls += 1;
      }
  }
  return machine.cost->microseconds(work, machine.rates.threads);
}

double GroupCost::ofSharingAll(ArrayRef<hr::OperatorInterface> operators) {
  llvm::SmallDenseSet<Operation *, 16> inside;
  for (hr::OperatorInterface op : operators)
    inside.insert(op);
  Work work = workOf(operators, [&](Operation *op) { return inside.contains(op); });
  for (hr::OperatorInterface op : operators)
    work.parts = std::max(work.parts, alone(op).parts);
  return machine.cost->microseconds(work, machine.rates.threads);
}

double GroupCost::trafficOf(const KernelGroup &group) {
  return workOf(group.getOperators(), [&](Operation *op) { return group.contains(op); }).bytes();
}

bool GroupCost::isMergeWorthwhile(const KernelGroup &a, const KernelGroup &b) {
  constexpr double kWorthwhilePart = 8;
  llvm::SmallDenseSet<Value, 8> readByA, computedByA, seen;
  for (hr::OperatorInterface op : a.getOperators()) {
    readByA.insert(op->operand_begin(), op->operand_end());
    computedByA.insert(op->getResult(0));
  }
  double shared = 0;
  auto share = [&](Value value) {
    if (seen.insert(value).second)
      shared += bytesOf(value);
  };
  for (hr::OperatorInterface op : b.getOperators()) {
    for (Value operand : op->getOperands())
      if (readByA.contains(operand) || computedByA.contains(operand))
        share(operand);
    if (readByA.contains(op->getResult(0)))
      share(op->getResult(0));
  }
  return shared > 0 && shared * kWorthwhilePart >= std::min(trafficOf(a), trafficOf(b));
}

} // namespace headrace
