#include "frontend/expr/ScanWriter.h"

#include "dialect/SizeAlgebra.h"
#include "dialect/scalar/Combine.h"
#include "frontend/expr/IndexChecks.h"
#include "frontend/expr/ScalarWriter.h"
#include "frontend/expr/ScanParts.h"
#include "frontend/expr/StageOperands.h"

#include "mlir/IR/Verifier.h"

#include <set>

using namespace mlir;

namespace headrace::expr {

namespace {

class ScanWriter {
public:
  ScanWriter(const std::shared_ptr<const StageInfo> &stage, const std::string &name,
             OperatorBuilder &operators, Symbols &symbols, SizeTable &sizes, StageValues &values)
      : stage(stage), name(name), ops(operators), symbols(symbols), sizes(sizes), values(values),
        parts(scanParts(stage, name, sizes, symbols, ops.context)) {}

  Value write() {
    for (const Expr &size : stage->shape)
      ops.requireNonNegative(sizes.convert(size), "size");
    for (const FlatStage &before : parts.before)
      values[before.info.get()] = writeStage(before, ops, symbols, sizes, values);
    for (const auto &tensor : parts.sequences)
      sequences.push_back(values.at(tensor.get()));
    for (const auto &tensor : parts.weights)
      weights.push_back(values.at(tensor.get()));
    return lastSteps(writeRecurrence(initialState()));
  }

private:
  SymbolicShape stateShape() const {
    SymbolicShape shape;
    if (parts.history > 1)
      shape.push_back(ops.dim(parts.history));
    for (const Expr &size : ArrayRef(stage->shape).drop_front())
      shape.push_back(sizes.convert(size));
    return shape;
  }

  /// The initial values, for each of the steps that are kept.
  Value initialState() {
    auto info = std::make_shared<StageInfo>();
    info->dtype = stage->dtype;
    if (parts.history > 1)
      info->axes.push_back(axis(Expr(parts.history)));
    info->axes.insert(info->axes.end(), stage->axes.begin() + 1, stage->axes.end());
    for (const Axis &axis : info->axes)
      info->shape.push_back(axis->extent);
    info->body = stage->recurrence->initial;
    std::vector<FlatStage> flat = flattened(info, name + ".initial");
    for (const FlatStage &part : flat)
      values[part.info.get()] = writeStage(part, ops, symbols, sizes, values);
    return values.at(info.get());
  }

  Value writeRecurrence(Value initial) {
    Type element = cast<RankedTensorType>(initial.getType()).getElementType();
    SymbolicShape shape{sizes.convert(stage->shape.front())};
    llvm::append_range(shape, stateShape());
    auto op = ops.builder.create<hr::RecurOp>(ops.loc, ops.checkedType(shape, element), sequences,
                                              initial, weights);
    SmallVector<Type> types{initial.getType()};
    for (Value sequence : sequences) {
      SymbolicShape now = shapeOf(sequence);
      types.push_back(tensorType(ArrayRef(now).drop_front(),
                                 cast<RankedTensorType>(sequence.getType()).getElementType()));
    }
    llvm::append_range(types, ValueRange(weights).getTypes());
    OpBuilder::InsertionGuard guard(ops.builder);
    Block *body = ops.builder.createBlock(&op.getBody(), {}, types,
                                          SmallVector<Location>(types.size(), ops.loc));
    state = body->getArgument(0);
    size_t next = 1;
    for (const auto &tensor : parts.sequences)
      inStep[tensor.get()] = body->getArgument(next++);
    for (const auto &tensor : parts.weights)
      inStep[tensor.get()] = body->getArgument(next++);
    Value last;
    for (const FlatStage &part : parts.step)
      inStep[part.info.get()] = last = writePart(part);
    ops.builder.create<hr::YieldOp>(ops.loc, parts.history > 1 ? shifted(last) : last);
    if (failed(verify(op)))
      throw InternalError("a recurrence is not well formed");
    return op.getResult();
  }

  /// The axes of a part of a step: those of its tensor but the steps, then those it reduces.
  SmallVector<Axis> axesInStep(const FlatStage &part) const {
    SmallVector<Axis> axes = axesOf(part);
    llvm::erase_if(axes, [&](const Axis &axis) { return isSteps(axis.get()); });
    return axes;
  }
  bool isSteps(const AxisInfo *axis) const { return axis == stage->axes.front().get(); }

  /// One `hr.compute` of the body.
  Value writePart(const FlatStage &part) {
    size_t reduced = part.reduction ? part.reduction->axes.size() : 0;
    Domain domain(axesInStep(part), reduced, sizes, symbols, ops.context);
    SmallVector<Value> inputs, tables;
    SmallVector<AffineMap> maps;
    std::map<const Node *, size_t> inputOf, tableOf;
    std::set<const Node *> seen;
    std::function<void(const Expr &)> collect = [&](const Expr &expr) {
      if (!seen.insert(expr.get()).second)
        return;
      if (expr.op() == Op::Read) {
        Value tensor = tensorOf(*expr->stage);
        if (std::optional<AffineMap> map = mapOf(expr, domain)) {
          inputOf[expr.get()] = inputs.size();
          inputs.push_back(tensor);
          maps.push_back(*map);
          return; // its indices are positions
        }
        tableOf[expr.get()] = tables.size();
        tables.push_back(tensor);
      }
      for (const Expr &operand : expr.operands())
        collect(operand);
    };
    collect(part.value);

    OpBuilder &b = ops.builder;
    Type element = toElementType(part.value.dtype(), ops.context);
    ArrayRef<AffineExpr> all = domain.getSizes();
    TypedAttr initial;
    if (part.reduction)
      initial = neutralOf(part, element);
    auto op = b.create<hr::ComputeOp>(ops.loc, ops.checkedType(all.drop_back(reduced), element),
                                      inputs, tables, symbolMap(all, ops.context),
                                      b.getAffineMapArrayAttr(maps), reduced, initial);
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&op.getBody());
    for (Value input : inputs)
      body->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), ops.loc);
    for (Value table : tables)
      body->addArgument(table.getType(), ops.loc);
    auto read = [&](ScalarWriter &writer, const Expr &expr) -> Value {
      if (auto known = inputOf.find(expr.get()); known != inputOf.end())
        return body->getArgument(known->second);
      SmallVector<Value> indices;
      if (parts.history > 1 && parts.stepsBack.contains(expr->stage.get()))
        indices.push_back(
            b.create<arith::ConstantIndexOp>(ops.loc, parts.stepsBack.at(expr->stage.get()) - 1));
      for (const Expr &index : expr.operands())
        indices.push_back(writer.writeIndex(index));
      return b.create<hr::ElementOp>(ops.loc, toElementType(expr.dtype(), ops.context),
                                     body->getArgument(inputs.size() + tableOf.at(expr.get())),
                                     indices);
    };
    Value value = ScalarWriter(b, ops.loc, &domain, &sizes, read).write(part.value);
    b.create<hr::YieldOp>(ops.loc, value);
    if (part.reduction)
      writeCombine(op, part, element);
    return op.getResult();
  }

  TypedAttr neutralOf(const FlatStage &part, Type element) const {
    const Reduction &reduction = *part.reduction;
    if (reduction.kind != Reduction::Kind::Custom)
      return hr::neutralValue(kindOf(reduction), element);
    return numberAttr(reduction.initial.front(), element);
  }

  void writeCombine(hr::ComputeOp op, const FlatStage &part, Type element) {
    OpBuilder &b = ops.builder;
    Block *block = b.createBlock(&op.getCombine(), {}, {element, element}, {ops.loc, ops.loc});
    const Reduction &reduction = *part.reduction;
    Value first = block->getArgument(0), second = block->getArgument(1);
    if (reduction.kind != Reduction::Kind::Custom) {
      b.create<hr::YieldOp>(ops.loc,
                            hr::combineValues(b, ops.loc, kindOf(reduction), first, second));
      return;
    }
    ScalarWriter writer(b, ops.loc, nullptr, &sizes, [](ScalarWriter &, const Expr &) -> Value {
      throw Error(ErrorKind::InvalidArgument,
                  "expected a reduction function of the two values alone");
    });
    writer.bind(reduction.first.front(), first);
    writer.bind(reduction.second.front(), second);
    b.create<hr::YieldOp>(ops.loc, writer.write(reduction.combined.front()));
  }

  Value tensorOf(const StageInfo &tensor) const {
    return parts.stepsBack.contains(&tensor) ? state : inStep.at(&tensor);
  }

  /// The map of an operand whose indices are different positions that cover it: none for what is
  /// read in any other way. A step is read without its number.
  std::optional<AffineMap> mapOf(const Expr &read, const Domain &domain) const {
    bool isState = parts.stepsBack.contains(read->stage.get());
    if (isState && parts.history > 1)
      return std::nullopt;
    SmallVector<AffineExpr> dims;
    for (auto [index, size] : llvm::zip(read.operands(), read->stage->shape)) {
      if (index.op() == Op::Position && isSteps(index->axis.get()) && !isState)
        continue;
      auto form = domain.linear(index);
      if (!form || constantValue(form->offset) != 0)
        return std::nullopt;
      std::optional<unsigned> dim;
      for (auto [d, coefficient] : llvm::enumerate(form->coefficients)) {
        if (coefficient == 0)
          continue;
        if (coefficient != 1 || dim)
          return std::nullopt;
        dim = d;
      }
      if (!dim || !sameSize(domain.getSizes()[*dim], sizes.convert(size)))
        return std::nullopt;
      AffineExpr expr = getAffineDimExpr(*dim, ops.context);
      if (llvm::is_contained(dims, expr))
        return std::nullopt;
      dims.push_back(expr);
    }
    return AffineMap::get(domain.rank(), 0, dims, ops.context);
  }

  /// The steps that are kept, the new one first.
  Value shifted(Value now) {
    OpBuilder &b = ops.builder;
    SymbolicShape shape = stateShape();
    SmallVector<AffineExpr> rest;
    for (unsigned d = 1; d < shape.size(); ++d)
      rest.push_back(getAffineDimExpr(d, ops.context));
    Type element = cast<RankedTensorType>(now.getType()).getElementType();
    AffineMap map = AffineMap::get(shape.size(), 0, rest, ops.context);
    auto op = b.create<hr::ComputeOp>(ops.loc, ops.checkedType(shape, element), ValueRange{now},
                                      ValueRange{state}, symbolMap(shape, ops.context),
                                      b.getAffineMapArrayAttr({map}), 0, TypedAttr());
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&op.getBody(), {}, {element, state.getType()}, {ops.loc, ops.loc});
    SmallVector<Value> indices;
    for (unsigned d = 0; d < shape.size(); ++d)
      indices.push_back(b.create<hr::IndexOp>(ops.loc, static_cast<int64_t>(d)));
    Value zero = b.create<arith::ConstantIndexOp>(ops.loc, 0);
    Value one = b.create<arith::ConstantIndexOp>(ops.loc, 1);
    Value isNew = b.create<arith::CmpIOp>(ops.loc, arith::CmpIPredicate::eq, indices.front(), zero);
    indices.front() = b.create<arith::SubIOp>(ops.loc, indices.front(), one);
    Value earlier = b.create<hr::ElementOp>(ops.loc, element, body->getArgument(1), indices);
    Value kept = b.create<arith::SelectOp>(ops.loc, isNew, body->getArgument(0), earlier);
    b.create<hr::YieldOp>(ops.loc, kept);
    return op.getResult();
  }

  /// The newest of the steps that each step keeps.
  Value lastSteps(Value states) {
    if (parts.history == 1)
      return states;
    SymbolicShape shape = shapeOf(states), result = shape;
    shape[1] = ops.dim(1);
    result.erase(result.begin() + 1);
    SmallVector<AffineExpr> starts(shape.size(), ops.dim(0));
    SmallVector<int64_t> steps(shape.size(), 1);
    return ops.reshape(ops.slice(states, starts, shape, steps), result);
  }

  std::shared_ptr<const StageInfo> stage;
  std::string name;
  OperatorBuilder &ops;
  Symbols &symbols;
  SizeTable &sizes;
  StageValues &values;
  ScanParts parts;
  SmallVector<Value> sequences, weights;
  Value state;
  std::map<const StageInfo *, Value> inStep;
};

} // namespace

Value writeScan(const std::shared_ptr<const StageInfo> &stage, const std::string &name,
                OperatorBuilder &operators, Symbols &symbols, SizeTable &sizes,
                StageValues &values) {
  return ScanWriter(stage, name, operators, symbols, sizes, values).write();
}

} // namespace headrace::expr
