#include "frontend/expr/StageWriter.h"

#include "dialect/SizeAlgebra.h"
#include "dialect/ops/folds/Folds.h"
#include "dialect/scalar/Combine.h"
#include "frontend/expr/IndexChecks.h"
#include "frontend/expr/PaddingConditions.h"
#include "frontend/expr/ScalarWriter.h"
#include "frontend/expr/StageOperands.h"

#include <set>

using namespace mlir;

namespace headrace::expr {

hr::ReduceKind kindOf(const Reduction &reduction) {
  switch (reduction.kind) {
  case Reduction::Kind::Sum:
    return hr::ReduceKind::Sum;
  case Reduction::Kind::Product:
    return hr::ReduceKind::Prod;
  case Reduction::Kind::Min:
    return hr::ReduceKind::Min;
  default:
    return hr::ReduceKind::Max;
  }
}

TypedAttr numberAttr(const Expr &number, Type type) {
  bool isWhole = !isFloat(number.dtype());
  if (isa<FloatType>(type))
    return FloatAttr::get(type, isWhole ? static_cast<double>(number->integer) : number->number);
  return IntegerAttr::get(type, number->integer);
}

namespace {

class StageWriter {
public:
  StageWriter(const FlatStage &stage, OperatorBuilder &operators, Symbols &symbols,
              SizeTable &sizes, const StageValues &values)
      : stage(stage), ops(operators), symbols(symbols), sizes(sizes), domain(makeDomain()),
        reads(this->stage, domain, operators, symbols, sizes, values) {}

  Value write() {
    for (AffineExpr size : domain.getSizes())
      ops.requireNonNegative(size, "size");
    Accesses accesses = findAccesses(stage.value, domain, sizes, symbols, subject());
    for (const DataIndex &index : findDataIndices(stage.value, domain, sizes, accesses))
      reads.addDataIndex(index, accesses);
    stage.value = withoutPaddingConditions(stage.value, domain, sizes, accesses);
    reads.collect(stage.value, accesses);
    if (stage.value.op() == Op::Tuple)
      return writeFold();
    if (Value recognised = writeContract())
      return recognised;
    if (Value recognised = writeReduce())
      return recognised;
    if (Value recognised = writeTranspose())
      return recognised;
    if (Value recognised = writeMap())
      return recognised;
    return writeCompute();
  }

private:
  Domain makeDomain() const {
    size_t reduced = stage.reduction ? stage.reduction->axes.size() : 0;
    return Domain(axesOf(stage), reduced, sizes, symbols, ops.context);
  }

  std::string subject() const { return "stage '" + stage.name + "'"; }
  Type elementType() const { return toElementType(stage.value.dtype(), ops.context); }

  /// sum(A[i, r] * B[r, j], r).
  Value writeContract() {
    if (!stage.reduction || stage.reduction->kind != Reduction::Kind::Sum ||
        stage.value.op() != Op::Mul || stage.value.dtype() == DType::Bool)
      return {};
    auto lhs = reads.operandFor(stage.value.operands()[0]),
         rhs = reads.operandFor(stage.value.operands()[1]);
    if (!lhs || !rhs || !lhs->map.isProjectedPermutation() || !rhs->map.isProjectedPermutation())
      return {};
    for (unsigned dim = 0; dim < domain.rank(); ++dim)
      if (!lhs->map.isFunctionOfDim(dim) && !rhs->map.isFunctionOfDim(dim))
        return {};
    AffineMap all = AffineMap::getMultiDimIdentityMap(domain.rank(), ops.context);
    AffineMap result =
        AffineMap::get(domain.rank(), 0, all.getResults().drop_back(domain.reduced()), ops.context);
    Value value = ops.infer<hr::ContractOp>(
        lhs->value, rhs->value, ops.builder.getAffineMapArrayAttr({lhs->map, rhs->map, result}),
        TypeAttr());
    return named(ops, value, stage.name, domain.axisNames());
  }

  /// sum(A[i, r], r), with the dimensions that stay in A's order.
  Value writeReduce() {
    if (!stage.reduction || stage.reduction->kind == Reduction::Kind::Custom)
      return {};
    auto input = reads.operandFor(stage.value);
    if (!input || !input->map.isPermutation())
      return {};
    SmallVector<int64_t> axes;
    SmallVector<std::string> names = domain.axisNames(), inputNames;
    unsigned next = 0, kept = domain.rank() - domain.reduced();
    for (auto [i, expr] : llvm::enumerate(input->map.getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      inputNames.push_back(names[dim]);
      if (dim >= kept)
        axes.push_back(i);
      else if (dim != next++)
        return {};
    }
    return named(ops, ops.reduce(kindOf(*stage.reduction), input->value, axes, /*keepDims=*/false),
                 stage.name, inputNames);
  }

  Value writeTranspose() {
    auto input = stage.reduction ? std::nullopt : reads.operandFor(stage.value);
    if (!input || !input->map.isPermutation() || input->map.isIdentity())
      return {};
    SmallVector<int64_t> permutation(domain.rank());
    for (auto [i, expr] : llvm::enumerate(input->map.getResults()))
      permutation[cast<AffineDimExpr>(expr).getPosition()] = i;
    return named(ops, ops.transpose(input->value, permutation), stage.name, domain.axisNames());
  }

  /// Operands that broadcast as in NumPy, once dimensions of size 1 are put between theirs.
  Value writeMap() {
    if (stage.reduction || reads.operands().empty() || !reads.tables().empty() || usesPositions())
      return {};
    SmallVector<Value> inputs;
    SymbolicShape joined;
    for (const StageOperand &operand : reads.operands()) {
      auto shape = aligned(operand);
      auto next = shape ? broadcastShapes(joined, *shape) : std::nullopt;
      if (!next)
        return {};
      joined = *next;
      inputs.push_back(operand.value);
    }
    // A dimension that no operand has cannot come from broadcasting.
    ArrayRef<AffineExpr> wanted = domain.getSizes();
    if (joined.size() != wanted.size() || !llvm::all_of(llvm::zip(joined, wanted), [](auto pair) {
          return sameSize(std::get<0>(pair), std::get<1>(pair));
        }))
      return {};
    for (auto [input, operand] : llvm::zip(inputs, reads.operands()))
      input = ops.reshape(input, *aligned(operand));
    Value value = createMap(ops.builder, ops.loc, inputs, [&](OpBuilder &b, ValueRange scalars) {
      return writeBody(b, scalars, {});
    });
    return named(ops, value, stage.name, domain.axisNames());
  }

  std::optional<SymbolicShape> aligned(const StageOperand &operand) const {
    SymbolicShape shape, source = shapeOf(operand.value);
    std::optional<unsigned> last;
    for (auto [expr, size] : llvm::zip(operand.map.getResults(), source)) {
      if (constantValue(expr) == 0)
        continue; // of size 1
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || (last && dim.getPosition() <= *last))
        return std::nullopt;
      if (last)
        shape.append(dim.getPosition() - *last - 1, constantDim(1, ops.context));
      shape.push_back(size);
      last = dim.getPosition();
    }
    if (last)
      shape.append(domain.rank() - *last - 1, constantDim(1, ops.context));
    return shape;
  }

  /// Whether the value depends on where the point is, other than by what it reads there.
  bool usesPositions() const {
    std::set<const Node *> seen;
    std::function<bool(const Expr &)> uses = [&](const Expr &expr) {
      if (!seen.insert(expr.get()).second || expr.op() == Op::Read)
        return false;
      return expr.op() == Op::Position || llvm::any_of(expr.operands(), uses);
    };
    return uses(stage.value);
  }

  Value writeBody(OpBuilder &builder, ValueRange scalars, ValueRange tableArguments) {
    return writeValues(builder, {stage.value}, scalars, tableArguments).front();
  }

  SmallVector<Value> writeValues(OpBuilder &builder, ArrayRef<Expr> exprs, ValueRange scalars,
                                 ValueRange tableArguments) {
    auto read = [&](ScalarWriter &writer, const Expr &expr) -> Value {
      if (std::optional<size_t> operand = reads.operandOf(expr))
        return scalars[*operand];
      SmallVector<Value> indices;
      for (auto [i, index] : llvm::enumerate(expr.operands()))
        if (std::optional<size_t> known = reads.dataIndexOf(expr, i))
          indices.push_back(writer.asIndex(scalars[*known]));
        else
          indices.push_back(writer.writeIndex(index));
      return builder.create<hr::ElementOp>(ops.loc, toElementType(expr.dtype(), ops.context),
                                           tableArguments[reads.tableOf(expr)], indices);
    };
    ScalarWriter writer(builder, ops.loc, &domain, &sizes, read);
    SmallVector<Value> written;
    for (const Expr &expr : exprs)
      written.push_back(writer.write(expr));
    return written;
  }

  Value combine(OpBuilder &builder, Value first, Value second) {
    const Reduction &reduction = *stage.reduction;
    if (reduction.kind != Reduction::Kind::Custom)
      return hr::combineValues(builder, ops.loc, kindOf(reduction), first, second);
    return combineTuples(builder, first, second).front();
  }

  /// The user's function of two tuples, or of two values.
  SmallVector<Value> combineTuples(OpBuilder &builder, ValueRange first, ValueRange second) {
    const Reduction &reduction = *stage.reduction;
    ScalarWriter writer(builder, ops.loc, nullptr, &sizes,
                        [&](ScalarWriter &, const Expr &expr) -> Value { failCombine(expr); });
    SmallVector<Value> written;
    for (size_t i = 0; i < first.size(); ++i) {
      writer.bind(reduction.first[i], first[i]);
      writer.bind(reduction.second[i], second[i]);
    }
    for (const Expr &combined : reduction.combined)
      written.push_back(writer.write(combined));
    return written;
  }

  [[noreturn]] void failCombine(const Expr &expr) const {
    throw Error(ErrorKind::InvalidArgument,
                subject() + ": expected a reduction function of the two values alone, got " +
                    expr.text());
  }

  TypedAttr initialValue() const {
    const Reduction &reduction = *stage.reduction;
    if (reduction.kind != Reduction::Kind::Custom)
      return hr::neutralValue(kindOf(reduction), elementType());
    return numberAttr(reduction.initial.front(), elementType());
  }

  /// A reduction of tuples: one component of it.
  Value writeFold() {
    OpBuilder &b = ops.builder;
    auto [inputs, maps] = operandsAndMaps();
    SmallVector<Type> types;
    SmallVector<Attribute> initial;
    for (auto [value, neutral] : llvm::zip(stage.value.operands(), stage.reduction->initial)) {
      types.push_back(toElementType(value.dtype(), ops.context));
      initial.push_back(numberAttr(neutral, types.back()));
    }
    ArrayRef<AffineExpr> all = domain.getSizes();
    RankedTensorType type =
        ops.checkedType(all.drop_back(domain.reduced()), types[stage.component]);
    auto op = b.create<hr::FoldOp>(ops.loc, type, inputs, reads.tables(),
                                   symbolMap(all, ops.context), b.getAffineMapArrayAttr(maps),
                                   stage.component, domain.reduced(), b.getArrayAttr(initial));
    OpBuilder::InsertionGuard guard(b);
    Block *body = addBody(op.getBody(), inputs);
    ValueRange arguments = body->getArguments();
    b.create<hr::YieldOp>(ops.loc, writeValues(b, stage.value.operands(),
                                               arguments.take_front(inputs.size()),
                                               arguments.drop_front(inputs.size())));
    SmallVector<Type> two(types);
    llvm::append_range(two, types);
    Block *combined =
        b.createBlock(&op.getCombine(), {}, two, SmallVector<Location>(two.size(), ops.loc));
    ValueRange tuples = combined->getArguments();
    b.create<hr::YieldOp>(ops.loc, combineTuples(b, tuples.take_front(types.size()),
                                                 tuples.drop_front(types.size())));
    return named(ops, op.getResult(), stage.name, domain.axisNames());
  }

  std::pair<SmallVector<Value>, SmallVector<AffineMap>> operandsAndMaps() const {
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (const StageOperand &operand : reads.operands()) {
      inputs.push_back(operand.value);
      maps.push_back(operand.map);
    }
    return {inputs, maps};
  }

  /// A block with an element of each input and each table as arguments.
  Block *addBody(Region &region, ValueRange inputs) {
    Block *body = ops.builder.createBlock(&region);
    for (Value input : inputs)
      body->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), ops.loc);
    for (Value table : reads.tables())
      body->addArgument(table.getType(), ops.loc);
    return body;
  }

  Value writeCompute() {
    OpBuilder &b = ops.builder;
    auto [inputs, maps] = operandsAndMaps();
    ArrayRef<AffineExpr> all = domain.getSizes();
    RankedTensorType type = ops.checkedType(all.drop_back(domain.reduced()), elementType());
    auto op =
        b.create<hr::ComputeOp>(ops.loc, type, inputs, reads.tables(), symbolMap(all, ops.context),
                                b.getAffineMapArrayAttr(maps), domain.reduced(),
                                stage.reduction ? initialValue() : TypedAttr());
    OpBuilder::InsertionGuard guard(b);
    Block *body = addBody(op.getBody(), inputs);
    ValueRange arguments = body->getArguments();
    Value value =
        writeBody(b, arguments.take_front(inputs.size()), arguments.drop_front(inputs.size()));
    b.create<hr::YieldOp>(ops.loc, value);
    if (stage.reduction) {
      Type element = elementType();
      Block *combined = b.createBlock(&op.getCombine(), {}, {element, element}, {ops.loc, ops.loc});
      b.create<hr::YieldOp>(ops.loc,
                            combine(b, combined->getArgument(0), combined->getArgument(1)));
    }
    return named(ops, op.getResult(), stage.name, domain.axisNames());
  }

  FlatStage stage;
  OperatorBuilder &ops;
  Symbols &symbols;
  SizeTable &sizes;
  Domain domain;
  StageOperands reads;
};

} // namespace

Value writeStage(const FlatStage &stage, OperatorBuilder &operators, Symbols &symbols,
                 SizeTable &sizes, const StageValues &values) {
  return StageWriter(stage, operators, symbols, sizes, values).write();
}

} // namespace headrace::expr
