#include "frontend/expr/StageWriter.h"

#include "dialect/Combine.h"
#include "dialect/SizeAlgebra.h"
#include "frontend/expr/IndexChecks.h"
#include "frontend/expr/PaddingConditions.h"
#include "frontend/expr/ScalarWriter.h"

#include <set>

using namespace mlir;

namespace headrace::expr {

static hr::ReduceKind kindOf(const Reduction &reduction) {
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

namespace {

/// A tensor as the stage reads it: after slices, by a map of the domain.
struct Operand {
  Value value;
  AffineMap map;
  bool operator==(const Operand &) const = default;
};

class StageWriter {
public:
  StageWriter(const FlatStage &stage, OperatorBuilder &operators, Symbols &symbols,
              SizeTable &sizes, const StageValues &values)
      : stage(stage), ops(operators), symbols(symbols), sizes(sizes), values(values),
        domain(makeDomain()) {}

  Value write() {
    for (AffineExpr size : domain.getSizes())
      ops.requireNonNegative(size, "size");
    Accesses accesses = findAccesses(stage.value, domain, sizes, symbols, subject());
    for (const DataIndex &index : findDataIndices(stage.value, domain, sizes, accesses))
      addDataIndex(index, accesses);
    stage.value = withoutPaddingConditions(stage.value, domain, sizes, accesses);
    collectOperands(accesses);
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
  SmallVector<Axis> allAxes() const {
    SmallVector<Axis> axes(stage.info->axes.begin(), stage.info->axes.end());
    if (stage.reduction)
      llvm::append_range(axes, stage.reduction->axes);
    return axes;
  }

  Domain makeDomain() const {
    size_t reduced = stage.reduction ? stage.reduction->axes.size() : 0;
    return Domain(allAxes(), reduced, sizes, symbols, ops.context);
  }

  std::string subject() const { return "stage '" + stage.name + "'"; }
  Type elementType() const { return toElementType(stage.value.dtype(), ops.context); }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  /// An index that depends on data is an operand, checked before this stage reads by it.
  void addDataIndex(const DataIndex &index, const Accesses &accesses) {
    auto access = accesses.reads.find(index.value.get());
    bool isOperand = access != accesses.reads.end() && !access->second.byIndex &&
                     index.value.dtype() != DType::Bool;
    Operand operand = isOperand ? readOperand(access->second, accesses) : computedIndex(index);
    AffineExpr size = sizes.convert(index.read->stage->shape[index.dim]);
    std::optional<int64_t> unread;
    if (index.isGuarded)
      unread = DataIndex::unread;
    operand.value =
        ops.checkedIndices(operand.value, size, unread, subject() + ": " + index.read.text());
    dataIndexOf[{index.read.get(), index.dim}] = findOrAdd(operands, operand);
  }

  /// A stage for the index alone, along the axes that it depends on.
  Operand computedIndex(const DataIndex &index) {
    std::set<const AxisInfo *> used;
    std::set<const Node *> seen;
    listAxes(index.value, used, seen);
    auto info = std::make_shared<StageInfo>();
    info->dtype = DType::I64;
    SmallVector<AffineExpr> dims;
    for (auto [i, axis] : llvm::enumerate(allAxes()))
      if (used.contains(axis.get())) {
        info->axes.push_back(axis);
        info->shape.push_back(axis->extent);
        dims.push_back(getAffineDimExpr(i, ops.context));
      }
    FlatStage computed{info, partName(*index.read->stage, "index"), nullptr,
                       expr::cast(index.value, DType::I64)};
    return {writeStage(computed, ops, symbols, sizes, values),
            AffineMap::get(domain.rank(), 0, dims, ops.context)};
  }

  static void listAxes(const Expr &expr, std::set<const AxisInfo *> &used,
                       std::set<const Node *> &seen) {
    if (!seen.insert(expr.get()).second)
      return;
    if (expr.op() == Op::Position)
      used.insert(expr->axis.get());
    for (const Expr &operand : expr.operands())
      listAxes(operand, used, seen);
  }

  void collectOperands(const Accesses &accesses) {
    // In the order in which the expression reads them.
    std::vector<const Node *> order;
    std::set<const Node *> seen;
    listReads(stage.value, order, seen);
    for (const Node *node : order) {
      const Access &access = accesses.reads.at(node);
      if (access.byIndex) {
        Value tensor = values.at(access.tensor.get());
        requireElements(tensor);
        tableOf[node] = findOrAdd(tables, tensor);
      } else {
        operandOf[node] = findOrAdd(operands, readOperand(access, accesses));
      }
    }
  }

  Operand readOperand(const Access &access, const Accesses &accesses) {
    Padding padding;
    if (auto found = accesses.padding.find(access.tensor.get()); found != accesses.padding.end())
      padding = found->second;
    Value &source = padded[access.tensor.get()];
    if (!source)
      source = pad(values.at(access.tensor.get()), padding, partName(*access.tensor, "pad"));
    return viewOf(source, access, padding);
  }

  void listReads(const Expr &expr, std::vector<const Node *> &order,
                 std::set<const Node *> &seen) const {
    if (!seen.insert(expr.get()).second)
      return;
    if (expr.op() == Op::Read)
      order.push_back(expr.get());
    for (auto [i, operand] : llvm::enumerate(expr.operands()))
      if (!dataIndexOf.contains({expr.get(), i}))
        listReads(operand, order, seen);
  }

  template <class T> static size_t findOrAdd(SmallVectorImpl<T> &list, const T &item) {
    size_t position = llvm::find(list, item) - list.begin();
    if (position == list.size())
      list.push_back(item);
    return position;
  }

  /// A table is never empty where it is read, whatever the free sizes are: an index is brought
  /// inside. Sizes 0 and 1 of a symbol are compiled for themselves and know.
  void requireElements(Value tensor) {
    SymbolicShape shape = shapeOf(tensor);
    for (AffineExpr size : shape)
      if (!constantValue(size) && !isa<AffineSymbolExpr>(size))
        ops.requireNonNegative(size - 1, "a size of a tensor that is read by index");
  }

  /// "C.A.pad": what the stage makes of a tensor before it reads it.
  std::string partName(const StageInfo &tensor, const char *what) const {
    return stage.name + "." + (tensor.name.empty() ? "input" : tensor.name) + "." + what;
  }

  Value pad(Value tensor, const Padding &padding, const std::string &name) {
    auto isZero = [](int64_t amount) { return amount == 0; };
    if (llvm::all_of(padding.low, isZero) && llvm::all_of(padding.high, isZero))
      return tensor;
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    return named(ops.infer<hr::PadOp>(tensor, padding.low, padding.high,
                                      cast<TypedAttr>(ops.builder.getZeroAttr(element))),
                 name);
  }

  Operand viewOf(Value source, const Access &access, const Padding &padding) {
    SymbolicShape shape = shapeOf(source), kept;
    SmallVector<AffineExpr> starts, exprs;
    SmallVector<int64_t> steps;
    bool whole = true;
    for (auto [i, dim] : llvm::enumerate(access.dims)) {
      int64_t low = padding.low.empty() ? 0 : padding.low[i];
      starts.push_back(normalized(dim.start + low));
      kept.push_back(dim.size);
      steps.push_back(dim.step);
      exprs.push_back(dim.map);
      whole &= constantValue(starts.back()) == 0 && dim.step == 1 && sameSize(dim.size, shape[i]);
    }
    AffineMap map = AffineMap::get(domain.rank(), 0, exprs, ops.context);
    if (whole)
      return {source, map};
    Type element = cast<RankedTensorType>(source.getType()).getElementType();
    Value part = ops.create<hr::SliceOp>(ops.checkedType(kept, element), source,
                                         symbolMap(starts, ops.context), steps);
    std::string name = partName(*access.tensor, "part");
    if (parts++ > 0)
      name += std::to_string(parts);
    return {named(part, name), map};
  }

  //===--------------------------------------------------------------------===//
  // Operators
  //===--------------------------------------------------------------------===//

  /// Marks an operator so that recipes find it; `axes` are the names of its dimensions.
  Value named(Value value, const std::string &name, ArrayRef<std::string> axes = {}) {
    Operation *op = value.getDefiningOp();
    op->setLoc(NameLoc::get(ops.builder.getStringAttr(name)));
    op->setAttr(kStageAttr, ops.builder.getStringAttr(name));
    SmallVector<StringRef> names(axes.begin(), axes.end());
    if (!axes.empty())
      op->setAttr(kAxesAttr, ops.builder.getStrArrayAttr(names));
    return value;
  }

  /// The operand that the expression is, if it is a read by a map.
  std::optional<Operand> asOperand(const Expr &expr) const {
    auto found = operandOf.find(expr.get());
    if (found == operandOf.end())
      return std::nullopt;
    return operands[found->second];
  }

  /// sum(A[i, r] * B[r, j], r).
  Value writeContract() {
    if (!stage.reduction || stage.reduction->kind != Reduction::Kind::Sum ||
        stage.value.op() != Op::Mul || stage.value.dtype() == DType::Bool)
      return {};
    auto lhs = asOperand(stage.value.operands()[0]), rhs = asOperand(stage.value.operands()[1]);
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
    return named(value, stage.name, domain.axisNames());
  }

  /// sum(A[i, r], r), with the dimensions that stay in A's order.
  Value writeReduce() {
    if (!stage.reduction || stage.reduction->kind == Reduction::Kind::Custom)
      return {};
    auto input = asOperand(stage.value);
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
    return named(ops.reduce(kindOf(*stage.reduction), input->value, axes, /*keepDims=*/false),
                 stage.name, inputNames);
  }

  Value writeTranspose() {
    auto input = stage.reduction ? std::nullopt : asOperand(stage.value);
    if (!input || !input->map.isPermutation() || input->map.isIdentity())
      return {};
    SmallVector<int64_t> permutation(domain.rank());
    for (auto [i, expr] : llvm::enumerate(input->map.getResults()))
      permutation[cast<AffineDimExpr>(expr).getPosition()] = i;
    return named(ops.transpose(input->value, permutation), stage.name, domain.axisNames());
  }

  /// Operands that broadcast as in NumPy, once dimensions of size 1 are put between theirs.
  Value writeMap() {
    if (stage.reduction || operands.empty() || !tables.empty() || usesPositions())
      return {};
    SmallVector<Value> inputs;
    SymbolicShape joined;
    for (const Operand &operand : operands) {
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
    for (auto [input, operand] : llvm::zip(inputs, operands))
      input = ops.reshape(input, *aligned(operand));
    Value value = createMap(ops.builder, ops.loc, inputs, [&](OpBuilder &b, ValueRange scalars) {
      return writeBody(b, scalars, {});
    });
    return named(value, stage.name, domain.axisNames());
  }

  std::optional<SymbolicShape> aligned(const Operand &operand) const {
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
    auto read = [&](ScalarWriter &writer, const Expr &expr) -> Value {
      if (auto operand = operandOf.find(expr.get()); operand != operandOf.end())
        return scalars[operand->second];
      SmallVector<Value> indices;
      for (auto [i, index] : llvm::enumerate(expr.operands()))
        if (auto known = dataIndexOf.find({expr.get(), i}); known != dataIndexOf.end())
          indices.push_back(writer.asIndex(scalars[known->second]));
        else
          indices.push_back(writer.writeIndex(index));
      return builder.create<hr::ElementOp>(ops.loc, toElementType(expr.dtype(), ops.context),
                                           tableArguments[tableOf.at(expr.get())], indices);
    };
    return ScalarWriter(builder, ops.loc, &domain, &sizes, read).write(stage.value);
  }

  Value combine(OpBuilder &builder, Value first, Value second) {
    const Reduction &reduction = *stage.reduction;
    if (reduction.kind != Reduction::Kind::Custom)
      return hr::combineValues(builder, ops.loc, kindOf(reduction), first, second);
    ScalarWriter writer(builder, ops.loc, nullptr, &sizes,
                        [&](ScalarWriter &, const Expr &expr) -> Value { failCombine(expr); });
    writer.bind(reduction.first, first);
    writer.bind(reduction.second, second);
    return writer.write(reduction.combined);
  }

  [[noreturn]] void failCombine(const Expr &expr) const {
    throw Error(ErrorKind::InvalidArgument,
                subject() + ": expected to combine two values by a function of them alone, found " +
                    expr.text());
  }

  TypedAttr initialValue() const {
    const Reduction &reduction = *stage.reduction;
    Type type = elementType();
    if (reduction.kind != Reduction::Kind::Custom)
      return hr::neutralValue(kindOf(reduction), type);
    const Expr &initial = reduction.initial;
    bool isWhole = !isFloat(initial.dtype());
    if (isa<FloatType>(type))
      return ops.builder.getFloatAttr(type, isWhole ? static_cast<double>(initial->integer)
                                                    : initial->number);
    return ops.builder.getIntegerAttr(type, initial->integer);
  }

  Value writeCompute() {
    OpBuilder &b = ops.builder;
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (const Operand &operand : operands) {
      inputs.push_back(operand.value);
      maps.push_back(operand.map);
    }
    ArrayRef<AffineExpr> all = domain.getSizes();
    RankedTensorType type = ops.checkedType(all.drop_back(domain.reduced()), elementType());
    auto op = b.create<hr::ComputeOp>(ops.loc, type, inputs, tables, symbolMap(all, ops.context),
                                      b.getAffineMapArrayAttr(maps), domain.reduced(),
                                      stage.reduction ? initialValue() : TypedAttr());
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&op.getBody());
    for (Value input : inputs)
      body->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), ops.loc);
    for (Value table : tables)
      body->addArgument(table.getType(), ops.loc);
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
    return named(op.getResult(), stage.name, domain.axisNames());
  }

  FlatStage stage;
  OperatorBuilder &ops;
  Symbols &symbols;
  SizeTable &sizes;
  const StageValues &values;
  Domain domain;
  SmallVector<Operand> operands;
  SmallVector<Value> tables;
  std::map<const Node *, size_t> operandOf, tableOf;
  std::map<std::pair<const Node *, size_t>, size_t> dataIndexOf; // by read and dimension
  std::map<const StageInfo *, Value> padded;
  int parts = 0;
};

} // namespace

Value writeStage(const FlatStage &stage, OperatorBuilder &operators, Symbols &symbols,
                 SizeTable &sizes, const StageValues &values) {
  return StageWriter(stage, operators, symbols, sizes, values).write();
}

} // namespace headrace::expr
