#include "transform/kernels/GroupCost.h"

#include "analysis/cost/FeatureTiles.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace headrace {

/// The vectors in a row of a tile; a tile has as many such rows as registers hold.
static constexpr int64_t kVectorsOfTile = 2;

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
    known->second = isa<RankedTensorType>(value.getType()) ? bytesAtHints(value, sizes) : 0;
  return known->second;
}

const Work &GroupCost::alone(hr::OperatorInterface op) {
  auto known = works.find(op);
  if (known == works.end())
    known = works.try_emplace(op, headrace::workOf(op, sizes)).first;
  return known->second;
}

/// Operands are in memory if they are inputs of the program or weights; what another kernel
/// computed was written shortly before, by a kernel that moved about as much as this one.
Work GroupCost::workOf(ArrayRef<hr::OperatorInterface> operators,
                       llvm::function_ref<bool(Operation *)> isInside) {
  Work work;
  work.parts = alone(operators.front()).parts;
  double total = 0;
  llvm::SmallDenseSet<Value, 8> read;
  auto move = [&](double bytes, bool isFar) {
    work.move(bytes, isFar ? programBytes : 0);
    total += bytes;
  };
  for (hr::OperatorInterface op : operators) {
    for (Value result : op->getResults())
      if (!llvm::all_of(result.getUsers(), isInside))
        move(bytesOf(result), /*isFar=*/false);
    // As the operator alone touches them: of tables, what it picks.
    for (const Work::Stream &stream : alone(op).streams) {
      if (stream.operand < 0 || stream.operand >= static_cast<int>(op->getNumOperands()))
        continue;
      Value operand = op->getOperand(stream.operand);
      Operation *producer = operand.getDefiningOp();
      if ((!producer || !isInside(producer)) && read.insert(operand).second)
        move(stream.bytes, !producer || isa<hr::ConstantOp>(producer));
    }
    llvm::append_range(work.arithmetic, alone(op).arithmetic);
  }
  for (Work::Stream &stream : work.streams)
    if (stream.workingSet == 0)
      stream.workingSet = std::min(2 * total, programBytes);
  return work;
}

/// Sums of products in register tiles. A walk has a vector of each of its rows in registers, and
/// finds weights as they lie, not packed; a product that combines rows keeps nothing there.
Work::Arithmetic GroupCost::productIn(const KernelGroup &group, hr::ContractOp op,
                                      Work::Arithmetic product) const {
  SymbolicShape result = shapeOf(op.getResult());
  double width = result.empty() ? 1 : static_cast<double>(sizeHint(result.back(), sizes));
  auto lanes = static_cast<double>(machine.lanes(static_cast<int64_t>(sizeOf(product.type))));
  if (group.accumulates(op)) {
    // A result of one column lies along its rows.
    double filled = width > 1 ? width / (0.6 * lanes) : 0.5;
    return {OperationKind::Window, product.type, product.operations, std::min(filled, 1.0)};
  }
  double depth = 1;
  const Movement m = op.getMovement();
  for (auto [size, kind] : llvm::zip(m.domain, m.iterators))
    if (kind == utils::IteratorType::reduction)
      depth *= static_cast<double>(sizeHint(size, sizes));
  bool walks = group.walkAxis().has_value();
  double rows = walks ? static_cast<double>(rowsOfWalk(machine.vectorRegisters)) : rowsOfTile();
  double most = walks ? lanes : kVectorsOfTile * lanes;
  AffineMap first = m.maps.front();
  auto isParallel = [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim && m.iterators[dim.getPosition()] == utils::IteratorType::parallel;
  };
  bool isStrided = first.getNumResults() > 0 && isParallel(first.getResults().back());
  double unit = machine.rates.unitBytes / static_cast<double>(sizeOf(product.type));
  RegisterTile tile{rows, std::min(width, most), depth, lanes, unit};
  // The vectors of a single column lie along the reduced dimension, a row at a time outside of a
  // walk; if that is strided, along the rows.
  if (width == 1 && isStrided && !walks)
    tile = {1, most, depth, lanes, unit};
  else if (width == 1)
    tile = {walks ? rows : 1, walks ? lanes : 4 * lanes, depth / lanes, lanes, unit};
  product.efficiency = tile.efficiency();
  // The columns that are left over fill a part of the last tile.
  if (width > most)
    product.efficiency *= width / (std::ceil(width / most) * most);
  // A first operand that is summed over its rows: each element of a tile's column is on a line of
  // its own.
  constexpr double unpacked = 0.8, strided = 0.5;
  if (!walks && isStrided)
    product.efficiency *= strided;
  if (walks && isa_and_nonnull<hr::ConstantOp>(op.getRhs().getDefiningOp()))
    product.efficiency *= unpacked;
  return product;
}

double GroupCost::rowsOfTile() const {
  return static_cast<double>(FeatureTiles::maxRows(machine.vectorRegisters, 1, kVectorsOfTile));
}

/// Operators after a product in its tiles are written out for each of their vectors: the more there
/// are, the more of them are stored and loaded again around a function of many operations.
/// Operands are read a few elements of many rows at a time: no prefetching follows that, so that
/// lines come from beyond the core's caches, and no arithmetic of the tile runs meanwhile.
void GroupCost::followInTiles(const KernelGroup &group, Work &work) {
  constexpr double vectorsAtHalfSpeed = 40;
  double efficiency = vectorsAtHalfSpeed / (vectorsAtHalfSpeed + rowsOfTile() * kVectorsOfTile);
  for (Work::Arithmetic &part : work.arithmetic)
    if (part.kind == OperationKind::Elementary || part.kind == OperationKind::Division)
      part.efficiency *= efficiency;
  auto isMatrix = [](Value value) {
    return llvm::count_if(shapeOf(value),
                          [](AffineExpr size) { return constantValue(size) != 1; }) > 1;
  };
  const Rates &rates = machine.rates;
  DType type = rateType(group.anchor()->getResult(0).getType());
  double beyond = rates.bytesPerMicrosecond(4 * rates.coreCacheBytes);
  double operationsOfByte = rates.operationsPerMicrosecond(OperationKind::Simple, type) / beyond;
  double bytes = bytesOf(group.anchor()->getResult(0));
  llvm::SmallDenseSet<Value, 4> seen;
  for (hr::OperatorInterface op : group.getOperators())
    if (op != group.anchor())
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        bool isInside = producer && group.contains(producer);
        if (!isInside && isMatrix(operand) && seen.insert(operand).second)
          work.arithmetic.push_back({OperationKind::Simple, type, operationsOfByte * bytes});
      }
}

bool GroupCost::readsByIndex(const KernelGroup &group) {
  return llvm::any_of(group.getOperators(), [&](hr::OperatorInterface op) {
    return llvm::any_of(alone(op).arithmetic, [](const Work::Arithmetic &part) {
      return part.kind == OperationKind::Scalar;
    });
  });
}

static void computeByElement(Work &work) {
  for (Work::Arithmetic &part : work.arithmetic) {
    constexpr double ofDivision = 4, ofElementary = 12;
    part.operations *= part.kind == OperationKind::Division     ? ofDivision
                       : part.kind == OperationKind::Elementary ? ofElementary
                                                                : 1;
    part.kind = OperationKind::Scalar;
    part.efficiency = 1;
  }
}

double GroupCost::of(const KernelGroup &group) {
  ArrayRef<hr::OperatorInterface> operators = group.getOperators();
  Work work = workOf(operators, [&](Operation *op) { return group.contains(op); });
  size_t next = 0;
  for (hr::OperatorInterface op : operators) {
    if (auto contract = dyn_cast<hr::ContractOp>(op.getOperation()))
      work.arithmetic[next] = productIn(group, contract, work.arithmetic[next]);
    next += alone(op).arithmetic.size();
  }
  if (group.anchor() && !group.walkAxis())
    followInTiles(group, work);
  if (readsByIndex(group))
    computeByElement(work);
  if (std::optional<int> walk = group.walkAxis()) {
    work.parts = static_cast<double>(sizeHint(group.getAxes()[*walk].size, sizes));
    for (hr::OperatorInterface op : operators) {
      // All weights are read for a few rows, and again for the next ones.
      if (auto contract = dyn_cast<hr::ContractOp>(op.getOperation());
          contract && !group.accumulates(op)) {
        double weights = std::min(bytesOf(contract.getLhs()), bytesOf(contract.getRhs()));
        double rows = static_cast<double>(rowsOfWalk(machine.vectorRegisters));
        work.move(weights * work.parts / rows, weights);
      }
      // Each block of rows leaves a partial result, and one more kernel combines them.
      if (group.accumulates(op)) {
        auto blocks = static_cast<double>(group.walkBlocks());
        double cells = bytesOf(op->getResult(0)) * std::min(work.parts, blocks);
        work.move(2 * cells, cells);
        work.kernelCalls += 1;
      }
      // Padding around its result is another kernel's.
      for (Operation *user : op->getUsers())
        if (isa<hr::PadOp>(user)) {
          work.move(2 * bytesOf(op->getResult(0)), programBytes);
          work.kernelCalls += 1;
        }
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
