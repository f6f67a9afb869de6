#include "driver/OperatorsOfProgram.h"

#include "dialect/ops/Operands.h"
#include "dialect/ops/systems/Systems.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"
#include "transform/choices/Choices.h"
#include "transform/choices/OperatorNames.h"
#include "transform/kernels/Partition.h"
#include "transform/kernels/ProgramModel.h"

using namespace mlir;

namespace headrace {
namespace {

using explore::Operator;
using Kind = Operator::Kind;
using Access = Operator::Access;

int64_t sizeOf(AffineExpr expr) {
  std::optional<int64_t> value = constantValue(expr);
  if (!value)
    throw InternalError("an operator to explore has a dynamic dimension");
  return *value;
}

int64_t productOf(ArrayRef<AffineExpr> sizes) {
  int64_t product = 1;
  for (AffineExpr size : sizes)
    if (__builtin_mul_overflow(product, sizeOf(size), &product))
      throw Error(ErrorKind::Unsupported, "expected operators of less than 2^63 points");
  return product;
}

int64_t volumeOf(Value value) { return productOf(shapeOf(value)); }

/// Whether the points of a domain, in row-major order, find elements as they are in memory: each
/// index follows a dimension, those that are left out are the innermost ones.
Access accessOf(AffineMap map, ArrayRef<AffineExpr> domain) {
  if (!map)
    return Access::Stored;
  unsigned next = 0;
  auto skipUnits = [&] {
    while (next < domain.size() && sizeOf(domain[next]) == 1)
      ++next;
  };
  for (AffineExpr index : map.getResults()) {
    skipUnits();
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < domain.size(); ++dim)
      if (index.isFunctionOfDim(dim) && sizeOf(domain[dim]) != 1)
        dims.push_back(dim);
    if (dims.empty())
      continue;
    if (dims.size() > 1 || dims.front() != next)
      return Access::Stored;
    ++next;
  }
  return Access::InOrder;
}

/// Sums over the innermost dimensions come as their elements do.
Access accessOfReduction(const Movement &movement) {
  bool isReduced = false;
  for (auto [size, kind] : llvm::zip(movement.domain, movement.iterators)) {
    if (sizeOf(size) == 1)
      continue;
    if (isReduced && kind == utils::IteratorType::parallel)
      return Access::Stored;
    isReduced |= kind == utils::IteratorType::reduction;
  }
  return Access::InOrder;
}

/// Where the user wrote it, if that is known: "fit.dml:7".
std::string placeOf(Location loc) {
  std::string place;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    place = file.getFilename().str() + ":" + std::to_string(file.getLine());
    return WalkResult::interrupt();
  });
  return place;
}

class Reader {
public:
  Reader(func::FuncOp entry, std::string name, const Target *target)
      : entry(entry), names(entry.getBody().front()) {
    graph.name = std::move(name);
    if (target)
      findKernels(*target);
  }

  explore::OperatorGraph read() {
    std::vector<TensorSpec> inputs = inputSpecs(entry);
    for (auto [argument, spec] : llvm::zip(entry.getArguments(), inputs))
      add(argument, {spec.name, Kind::Input, volumeOf(argument)});
    for (Operation &op : entry.getBody().front().without_terminator())
      visit(&op);
    for (Value result : entry.getBody().front().getTerminator()->getOperands())
      if (auto known = numbers.find(result); known != numbers.end())
        graph.results.push_back(known->second);
    if (graph.results.empty())
      throw Error(ErrorKind::InvalidArgument,
                  graph.name + ": expected a program that computes something, got constants only");
    return std::move(graph);
  }

private:
  void findKernels(const Target &target) {
    Choices choices(entry);
    KernelRules rules(entry, target.machine().policy.walksRows ? KernelRules::Loops::Shared
                                                               : KernelRules::Loops::Whole);
    int number = 0;
    // Padding stays an operator of its own, which tasks can show.
    for (const KernelGroup &group :
         partition(entry, rules, std::nullopt, target.machine(), choices, Borders())) {
      for (hr::OperatorInterface op : group.getOperators())
        kernels[op] = number;
      ++number;
    }
  }

  void add(Value value, Operator op) {
    numbers[value] = static_cast<int>(graph.operators.size());
    graph.operators.push_back(std::move(op));
  }

  bool isConstant(Value value) const { return !numbers.contains(value); }

  void visit(Operation *op) {
    // Weights, and what is computed from them alone, are there before the program runs.
    if (llvm::all_of(op->getOperands(), [&](Value value) { return isConstant(value); }))
      return;
    Value result = op->getResult(0);
    // The user's name, with what tells it from others of the same node ("/pad").
    StringRef own = names.of(op);
    std::string name = operatorName(op);
    if (own.consume_front(plainName(name)))
      name += own.str();
    Operator node{name, Kind::Other, volumeOf(result)};
    node.names = {operatorName(op)};
    node.place = placeOf(op->getLoc());
    if (auto kernel = kernels.find(op); kernel != kernels.end())
      node.kernel = kernel->second;
    if (node.output == 0)
      throw Error(ErrorKind::InvalidArgument,
                  "operator " + inQuotes(node.name) + ": expected at least 1 element, got none");
    describe(op, node);
    add(result, std::move(node));
  }

  void takeOperands(Operation *op, Operator &node, llvm::function_ref<Access(unsigned)> access) {
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!isConstant(operand))
        node.operands.push_back({numbers[operand], access(static_cast<unsigned>(i))});
  }

  void describe(Operation *op, Operator &node) {
    auto inOrder = [](unsigned) { return Access::InOrder; };
    auto structured = dyn_cast<hr::OperatorInterface>(op);
    if (!structured)
      return takeOperands(op, node, inOrder);
    Movement movement = structured.getMovement();
    auto byMap = [&](unsigned i) { return accessOf(movement.maps[i], movement.domain); };
    int64_t points = productOf(movement.domain);
    if (structured.getFusionRole() == FusionRole::View ||
        isa<hr::ReshapeOp, hr::CheckOp, hr::DetachOp>(op)) {
      node.kind = Kind::View;
      return takeOperands(op, node, inOrder);
    }
    if (isa<hr::TransposeOp>(op)) {
      node.kind = Kind::View;
      return takeOperands(op, node, byMap);
    }
    if (isa<hr::BroadcastOp>(op)) {
      node.kind = Kind::Copy;
      return takeOperands(op, node, byMap);
    }
    if (auto slice = dyn_cast<hr::SliceOp>(op)) {
      node.kind = Kind::Copy;
      bool backward = llvm::any_of(slice.getSteps(), [](int64_t step) { return step < 0; });
      return takeOperands(op, node,
                          [&](unsigned) { return backward ? Access::Stored : Access::InOrder; });
    }
    if (isa<hr::PadOp, hr::PlaceOp>(op)) {
      node.kind = Kind::Copy;
      return takeOperands(op, node, inOrder);
    }
    if (auto concat = dyn_cast<hr::ConcatOp>(op)) {
      node.kind = Kind::Concat;
      bool outermost =
          productOf(ArrayRef(shapeOf(concat.getResult())).take_front(concat.getAxis())) == 1;
      return takeOperands(op, node,
                          [&](unsigned) { return outermost ? Access::InOrder : Access::Stored; });
    }
    node.points = points;
    if (auto contract = dyn_cast<hr::ContractOp>(op))
      return describe(contract, movement, node);
    if (auto conv = dyn_cast<hr::ConvOp>(op))
      return describe(conv, movement, node);
    if (auto solve = dyn_cast<hr::SolveOp>(op))
      return describe(solve, node);
    bool reduces = llvm::is_contained(movement.iterators, utils::IteratorType::reduction);
    bool mapped = llvm::all_of(movement.maps, [](AffineMap map) { return bool(map); });
    if (mapped && !reduces && points == node.output) {
      node.kind = Kind::Map;
      return takeOperands(op, node, byMap);
    }
    if (isa<hr::ReduceOp, hr::PoolOp>(op)) {
      node.kind = Kind::Reduction;
      Access access = isa<hr::PoolOp>(op) ? Access::InOrder : accessOfReduction(movement);
      return takeOperands(op, node, [&](unsigned) { return access; });
    }
    takeOperands(op, node, [](unsigned) { return Access::Stored; });
  }

  /// Dimensions of both operands and the result are a batch. The constant operand, or the left one,
  /// is what every column is multiplied with.
  void describe(hr::ContractOp op, const Movement &movement, Operator &node) {
    node.kind = Kind::Contraction;
    int64_t batch = 1, m = 1, n = 1, k = 1;
    for (auto [dim, size] : llvm::enumerate(movement.domain)) {
      auto has = [&, dim = static_cast<unsigned>(dim)](unsigned operand) {
        return movement.maps[operand].isFunctionOfDim(dim);
      };
      (has(2) ? has(0) && has(1) ? batch : has(0) ? m : n : k) *= sizeOf(size);
    }
    if (isConstant(op.getRhs()))
      std::swap(m, n);
    node.contraction = {m, n, k, batch};
    takeOperands(op, node, [](unsigned) { return Access::Stored; });
  }

  void describe(hr::ConvOp op, const Movement &movement, Operator &node) {
    node.kind = Kind::Convolution;
    SymbolicShape filter = shapeOf(op.getFilter());
    bool first = op.getLayout() == hr::ChannelLayout::First;
    int64_t groups = static_cast<int64_t>(op.getGroups()), k = 1;
    int64_t features = sizeOf(first ? filter.front() : filter.back());
    for (auto [size, kind] : llvm::zip(movement.domain, movement.iterators))
      k *= kind == utils::IteratorType::reduction ? sizeOf(size) : 1;
    node.contraction = {features / groups, node.output / features, k, groups};
    takeOperands(op, node, [](unsigned) { return Access::Stored; });
  }

  void describe(hr::SolveOp op, Operator &node) {
    auto [batch, unknowns, columns] = op.getSizes();
    node.systems = {sizeOf(batch), sizeOf(unknowns), sizeOf(columns), op.getComplex() ? 2 : 1,
                    op.getPositiveDefinite()};
    takeOperands(op, node, [](unsigned) { return Access::Stored; });
    // A side that is constant is read like any other operand by one task.
    if (node.operands.size() != 2)
      return;
    node.kind = Kind::Systems;
    node.points = 0; // they depend on the factorization
  }

  func::FuncOp entry;
  OperatorNames names;
  explore::OperatorGraph graph;
  llvm::DenseMap<Value, int> numbers; // none for constants
  llvm::DenseMap<Operation *, int> kernels;
};

} // namespace

explore::OperatorGraph operatorsOf(ModuleOp program, const std::string &name,
                                   const Target *target) {
  return Reader(entryFunction(program), name, target).read();
}

} // namespace headrace
