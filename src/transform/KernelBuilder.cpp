#include "transform/KernelBuilder.h"

#include "dialect/KernelSizes.h"
#include "dialect/SizeAlgebra.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

/// One dimension of a value as the kernel sees it: an expression over the group's axes, and its
/// size in memory where that is not the size of an axis (a window or a step, which need not cover
/// it).
struct ViewDim {
  AffineExpr expr;
  AffineExpr memorySize;

  /// The axis along which all of the dimension is walked.
  std::optional<int> axis() const {
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !memorySize)
      return dim.getPosition();
    return std::nullopt;
  }
  /// A window whose only position is the first: the beginning of the dimension is walked.
  bool isBeginning() const { return isa<AffineDimExpr>(expr) && memorySize; }
  bool operator==(const ViewDim &other) const { return expr == other.expr; }
};
using View = SmallVector<ViewDim>;

class KernelBuilder {
public:
  KernelBuilder(OpBuilder &b, const KernelGroup &group, const Machine &machine)
      : b(b), group(group), machine(machine), context(b.getContext()) {
    for (const Axis &axis : group.getAxes())
      sizes.push_back(axis.size);
  }

  SmallVector<Replacement> build();

private:
  struct Access {
    Value value;
    View view;
    bool isTable = false; // read by index in the body, not by the loops
    /// The slice that the kernel takes itself, and which of its dimensions the view has.
    hr::SliceOp slice;
    SmallVector<unsigned> sliceDims;
    bool operator==(const Access &) const = default;
  };
  struct OpPlan {
    hr::OperatorInterface op;
    SmallVector<int> axes;               // of its domain
    SmallVector<IteratorType> iterators; // beside each axis
    SmallVector<Access> accesses;        // operands, then the result
    SmallVector<int> indexed;            // axes whose position the body reads
    bool stored = false;                 // others read the result
    bool accumulates = false;            // over all rows of a walking group

    bool reads(int axis) const { return llvm::is_contained(indexed, axis); }
  };
  /// The rows a block of a walking group covers.
  struct Rows {
    Value block, first, count;
  };

  void planOperators();
  Access accessOf(Value value, AffineMap map, ArrayRef<AxisRef> domain);
  void mergeAxes();
  bool mergeable(int a, int b) const;
  void splitFeatures();
  void orderAxes();
  SmallVector<AffineExpr> sizesOf(const Access &access) const;
  Value asView(const Access &access);
  Value packed(const Access &access);
  Value partOf(OpBuilder &inner, const Access &access, Value operand);
  SmallVector<OpFoldResult> sizesIn(OpBuilder &inner, Location loc, const Access &access,
                                    const Rows *rows);
  Value emitOperator(OpBuilder &inner, const OpPlan &plan, ArrayRef<Value> operands,
                     const Rows *rows);
  void placeIndices(linalg::GenericOp generic, const OpPlan &plan);
  SmallVector<Value> valuesRead() const;
  SmallVector<Value> collectInputs();
  hr::KernelOp createKernel(ArrayRef<Value> inputs, ArrayRef<Type> results);
  llvm::DenseMap<Value, Value> emitOperators(OpBuilder &inner, ArrayRef<Value> parts,
                                             const Rows *rows);
  SmallVector<Value> emitBlocks(ArrayRef<Value> parts, ArrayRef<Type> results);
  Rows rowsOf(OpBuilder &inner, Location loc, Value block);
  RankedTensorType storedType(const OpPlan &plan) const;
  Value combined(const OpPlan &plan, Value partial);
  bool hasAccumulation() const {
    return llvm::any_of(plans, [](const OpPlan &plan) { return plan.accumulates; });
  }
  AffineExpr rowsPerBlock() const;
  bool startsWithRows(const Access &access) const {
    return group.walkAxis() && !access.view.empty() &&
           access.view.front().axis() == group.walkAxis();
  }
  AffineExpr axisExpr(int axis) const { return getAffineDimExpr(axis, context); }
  ViewDim axisDim(int axis) const { return {axisExpr(axis), AffineExpr()}; }

  OpBuilder &b;
  const KernelGroup &group;
  const Machine &machine;
  MLIRContext *context;
  SmallVector<AffineExpr> sizes; // of each axis
  std::vector<OpPlan> plans;     // in program order
  SmallVector<int> order;        // rank of each axis in loop order
  SmallVector<Access> external;  // what the kernel reads, an argument each
  /// How the dimensions of constant weights are permuted when they are packed; empty: they are not.
  SmallVector<int64_t> packPermutation;
};

KernelBuilder::Access KernelBuilder::accessOf(Value value, AffineMap map,
                                              ArrayRef<AxisRef> domain) {
  Access access{value, {}, !map, {}, {}};
  if (!map)
    return access;
  if (auto slice = value.getDefiningOp<hr::SliceOp>(); slice && isReadInPlace(slice))
    access.slice = slice;
  SmallVector<AffineExpr> replacements;
  for (AxisRef ref : domain)
    replacements.push_back(ref.isAxis() ? axisExpr(ref.getId()) : constantDim(0, context));
  SymbolicShape shape = shapeOf(value);
  View &view = access.view;
  for (auto [i, size, result] : llvm::enumerate(shape, map.getResults())) {
    AffineExpr expr = simplifyAffineExpr(result.replaceDims(replacements), sizes.size(), 0);
    if (constantValue(expr) == 0 && constantValue(size) == 1)
      continue; // a unit dimension
    // group * width + position: two dimensions in one, told apart by a reshape.
    auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
    auto product = sum && expr.getKind() == AffineExprKind::Add
                       ? dyn_cast<AffineBinaryOpExpr>(sum.getLHS())
                       : AffineBinaryOpExpr(nullptr);
    if (!access.slice && product && product.getKind() == AffineExprKind::Mul) {
      auto outer = dyn_cast<AffineDimExpr>(product.getLHS());
      auto inner = dyn_cast<AffineDimExpr>(sum.getRHS());
      if (outer && inner && product.getRHS() == sizes[inner.getPosition()] &&
          sameSize(size, sizes[outer.getPosition()] * sizes[inner.getPosition()])) {
        view.push_back({outer, AffineExpr()});
        view.push_back({inner, AffineExpr()});
        continue;
      }
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    bool whole = dim && sameSize(size, sizes[dim.getPosition()]);
    view.push_back({expr, whole ? AffineExpr() : size});
    if (access.slice)
      access.sliceDims.push_back(i);
  }
  return access;
}

void KernelBuilder::planOperators() {
  SmallVector<hr::OperatorInterface> operators(group.getOperators());
  llvm::sort(operators, [](hr::OperatorInterface a, hr::OperatorInterface b) {
    return a->isBeforeInBlock(b);
  });
  for (hr::OperatorInterface op : operators) {
    Movement m = op.getMovement();
    ArrayRef<AxisRef> domain = group.domainOf(op);
    OpPlan plan{op, {}, {}, {}, {}};
    plan.stored = op->use_empty() || llvm::any_of(op->getUsers(), [&](Operation *user) {
                    return !group.contains(user);
                  });
    plan.accumulates = group.accumulates(op);
    for (auto [ref, kind] : llvm::zip(domain, m.iterators))
      if (ref.isAxis()) {
        plan.axes.push_back(ref.getId());
        plan.iterators.push_back(kind);
      }
    for (unsigned dim : m.indexed)
      if (domain[dim].isAxis())
        plan.indexed.push_back(domain[dim].getId());
    for (auto [value, map] : llvm::zip(op->getOperands(), m.maps))
      plan.accesses.push_back(accessOf(value, map, domain));
    plan.accesses.push_back(accessOf(op->getResult(0), m.maps.back(), domain));
    plans.push_back(std::move(plan));
  }
}

/// Whether `b` directly follows `a` wherever either is walked.
bool KernelBuilder::mergeable(int a, int b) const {
  if (constantValue(sizes[a]).has_value() != constantValue(sizes[b]).has_value() &&
      group.walkAxis() != a)
    return false;
  for (const OpPlan &plan : plans) {
    if (plan.reads(a) || plan.reads(b))
      return false;
    auto atA = llvm::find(plan.axes, a), atB = llvm::find(plan.axes, b);
    if ((atA == plan.axes.end()) != (atB == plan.axes.end()))
      return false;
    if (atA != plan.axes.end() &&
        plan.iterators[atA - plan.axes.begin()] != plan.iterators[atB - plan.axes.begin()])
      return false;
    for (const Access &access : plan.accesses) {
      bool follows = false;
      for (const ViewDim &dim : access.view) {
        auto axis = dim.axis();
        if ((!axis || access.slice) && (dim.expr.isFunctionOfDim(a) || dim.expr.isFunctionOfDim(b)))
          return false;
        if (follows != (axis == b))
          return false;
        follows = axis == a;
      }
      if (follows)
        return false;
    }
  }
  return true;
}

void KernelBuilder::mergeAxes() {
  for (bool changed = true; changed;) {
    changed = false;
    for (int a = 0; a < static_cast<int>(sizes.size()) && !changed; ++a)
      for (int b = 0; b < static_cast<int>(sizes.size()) && !changed; ++b) {
        bool used = llvm::any_of(plans, [&](const OpPlan &plan) {
          return llvm::is_contained(plan.axes, a) && llvm::is_contained(plan.axes, b);
        });
        if (a == b || !used || !mergeable(a, b))
          continue;
        sizes[a] = simplifyAffineExpr(sizes[a] * sizes[b], 0, 16);
        for (OpPlan &plan : plans) {
          if (auto at = llvm::find(plan.axes, b); at != plan.axes.end()) {
            plan.iterators.erase(plan.iterators.begin() + (at - plan.axes.begin()));
            plan.axes.erase(at);
          }
          for (Access &access : plan.accesses)
            llvm::erase(access.view, axisDim(b));
        }
        changed = true;
      }
  }
}

static bool isConstant(Value value) {
  return value.getDefiningOp() && isa<hr::ConstantOp>(value.getDefiningOp());
}

/// Splits the features of constant weights into register tiles: the result [.., F] is walked as
/// [.., F/t, t] and the weights are packed as [F/t, .., t], so that a tile's weights lie in the
/// order they are used.
void KernelBuilder::splitFeatures() {
  if (group.walkAxis() || !group.anchor() ||
      isa<hr::PoolOp, hr::ComputeOp>(group.anchor().getOperation()))
    return;
  OpPlan *anchor = &*llvm::find_if(plans, [&](OpPlan &p) { return p.op == group.anchor(); });
  Access &lhs = anchor->accesses[0], &rhs = anchor->accesses[1], &result = anchor->accesses[2];
  if (!isConstant(rhs.value) || result.view.empty())
    return;
  auto feature = result.view.back().axis();
  if (!feature || !llvm::is_contained(rhs.view, axisDim(*feature)) ||
      llvm::any_of(lhs.view, [&](const ViewDim &d) { return d.expr.isFunctionOfDim(*feature); }))
    return;
  if (llvm::any_of(plans, [&](const OpPlan &plan) { return plan.reads(*feature); }))
    return;
  auto features = constantValue(sizes[*feature]);
  Type element = cast<RankedTensorType>(rhs.value.getType()).getElementType();
  if (!features || !element.isIntOrFloat())
    return;
  int64_t tile =
      chooseFeatureTile(machine, *features, std::max(1u, element.getIntOrFloatBitWidth() / 8));
  if (tile == 0)
    return;

  int outer = *feature, inner = outer;
  if (tile != *features) {
    inner = sizes.size();
    sizes[outer] = constantDim(*features / tile, context);
    sizes.push_back(constantDim(tile, context));
    for (OpPlan &plan : plans) {
      if (auto at = llvm::find(plan.axes, outer); at != plan.axes.end()) {
        plan.axes.push_back(inner);
        plan.iterators.push_back(IteratorType::parallel);
      }
      for (Access &access : plan.accesses)
        if (auto at = llvm::find(access.view, axisDim(outer)); at != access.view.end())
          access.view.insert(at + 1, axisDim(inner));
    }
  }
  // Pack: outer tile first, the tile itself last, what is summed over in between.
  View target;
  for (const ViewDim &dim : rhs.view)
    if (dim.axis() != outer && dim.axis() != inner)
      target.push_back(dim);
  if (inner != outer)
    target.insert(target.begin(), axisDim(outer));
  target.push_back(axisDim(inner));
  for (const ViewDim &dim : target)
    packPermutation.push_back(llvm::find(rhs.view, dim) - rhs.view.begin());
}

/// Loop order: the result's dimensions as they lie in memory, then what is combined away.
void KernelBuilder::orderAxes() {
  SmallVector<int> sequence;
  auto add = [&](int axis) {
    if (!llvm::is_contained(sequence, axis))
      sequence.push_back(axis);
  };
  if (group.walkAxis())
    add(*group.walkAxis());
  for (const ViewDim &dim : plans.back().accesses.back().view)
    if (auto axis = dim.axis())
      add(*axis);
  for (const OpPlan &plan : llvm::reverse(plans))
    for (int axis : plan.axes)
      add(axis);
  order.assign(sizes.size(), 0);
  for (auto [rank, axis] : llvm::enumerate(sequence))
    order[axis] = rank;
  for (OpPlan &plan : plans) {
    SmallVector<std::pair<int, IteratorType>> sorted;
    for (auto [axis, iterator] : llvm::zip(plan.axes, plan.iterators))
      sorted.emplace_back(axis, iterator);
    llvm::sort(sorted, [&](auto x, auto y) { return order[x.first] < order[y.first]; });
    for (auto [i, entry] : llvm::enumerate(sorted))
      std::tie(plan.axes[i], plan.iterators[i]) = entry;
  }
}

SmallVector<AffineExpr> KernelBuilder::sizesOf(const Access &access) const {
  SmallVector<AffineExpr> result;
  for (const ViewDim &dim : access.view)
    result.push_back(dim.axis() ? sizes[*dim.axis()] : dim.memorySize);
  return result;
}

/// The operand in the shape the kernel sees; a reshape, so nothing moves.
Value KernelBuilder::asView(const Access &access) {
  if (hr::SliceOp slice = access.slice)
    return slice.getInput();
  if (access.isTable)
    return access.value;
  auto type = cast<RankedTensorType>(access.value.getType());
  RankedTensorType viewType = tensorType(sizesOf(access), type.getElementType());
  if (viewType == type)
    return access.value;
  return b.create<hr::ReshapeOp>(access.value.getLoc(), viewType, access.value);
}

Value KernelBuilder::packed(const Access &access) {
  Value view = asView(access);
  return b.create<hr::TransposeOp>(view.getLoc(), view, packPermutation);
}

/// The part of an operand that is walked: of a slice, or the beginning of a dimension.
Value KernelBuilder::partOf(OpBuilder &inner, const Access &access, Value operand) {
  bool isPart = llvm::any_of(access.view, [](const ViewDim &dim) { return dim.isBeginning(); });
  if (!access.slice && !isPart)
    return operand;
  Location loc = operand.getLoc();
  SmallVector<AffineExpr> walked = sizesOf(access);
  for (auto [dim, size] : llvm::zip(access.view, walked))
    if (dim.isBeginning())
      size = sizes[cast<AffineDimExpr>(dim.expr).getPosition()];
  auto source = cast<RankedTensorType>(operand.getType());
  SmallVector<OpFoldResult> parts = sizeOperands(inner, loc, walked);
  SmallVector<OpFoldResult> offsets(source.getRank(), inner.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(source.getRank(), inner.getIndexAttr(1));
  if (hr::SliceOp slice = access.slice) {
    SmallVector<OpFoldResult> all(source.getRank(), inner.getIndexAttr(1));
    for (auto [dim, part] : llvm::zip(access.sliceDims, parts))
      all[dim] = part;
    parts = all;
    offsets = sizeOperands(inner, loc, slice.getStarts().getResults());
    for (auto [stride, step] : llvm::zip(strides, slice.getSteps()))
      stride = inner.getIndexAttr(step);
  }
  auto type = plainType(tensorType(walked, source.getElementType()));
  return inner.create<tensor::ExtractSliceOp>(loc, type, operand, offsets, parts, strides);
}

SmallVector<OpFoldResult> KernelBuilder::sizesIn(OpBuilder &inner, Location loc,
                                                 const Access &access, const Rows *rows) {
  SmallVector<OpFoldResult> result = sizeOperands(inner, loc, sizesOf(access));
  if (rows && startsWithRows(access))
    result.front() = rows->count;
  return result;
}

Value KernelBuilder::emitOperator(OpBuilder &inner, const OpPlan &plan, ArrayRef<Value> operands,
                                  const Rows *rows) {
  Location loc = plan.op->getLoc();
  SmallVector<AffineExpr> local(sizes.size(), constantDim(0, context));
  for (auto [position, axis] : llvm::enumerate(plan.axes))
    local[axis] = getAffineDimExpr(position, context);
  auto mapOf = [&](const View &view) {
    SmallVector<AffineExpr> exprs;
    for (const ViewDim &dim : view)
      exprs.push_back(dim.expr.replaceDims(local));
    return AffineMap::get(plan.axes.size(), 0, exprs, context);
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  llvm::SmallDenseSet<int> seen;
  for (auto [i, access] : llvm::enumerate(plan.accesses)) {
    if (access.isTable)
      continue;
    if (i < operands.size())
      inputs.push_back(operands[i]);
    maps.push_back(mapOf(access.view));
    for (const ViewDim &dim : access.view)
      if (auto axis = dim.axis())
        seen.insert(*axis);
  }
  // A window's extent is the shape of an operand that is never read, as in linalg's own pooling.
  View window;
  SmallVector<AffineExpr> windowSizes;
  for (int axis : plan.axes)
    if (!seen.contains(axis)) {
      window.push_back(axisDim(axis));
      windowSizes.push_back(sizes[axis]);
    }
  const Access &result = plan.accesses.back();
  Type element = cast<RankedTensorType>(result.value.getType()).getElementType();
  if (!window.empty()) {
    inputs.push_back(emptyTensor(inner, loc, windowSizes, element));
    maps.insert(maps.end() - 1, mapOf(window));
  }
  Value init = inner.create<tensor::EmptyOp>(loc, sizesIn(inner, loc, result, rows), element);
  hr::OperatorInterface op = plan.op;
  if (TypedAttr start = op.getInitialValue())
    init = inner
               .create<linalg::FillOp>(loc, inner.create<arith::ConstantOp>(loc, start).getResult(),
                                       init)
               .getResult(0);
  auto generic = inner.create<linalg::GenericOp>(
      loc, TypeRange{init.getType()}, inputs, ValueRange{init}, maps, plan.iterators,
      [&](OpBuilder &body, Location, ValueRange scalars) {
        SmallVector<Value> arguments(scalars);
        for (auto [i, operand] : llvm::enumerate(operands))
          if (plan.accesses[i].isTable)
            arguments.insert(arguments.begin() + i, operand);
        body.create<linalg::YieldOp>(loc, op.buildBody(body, arguments));
      });
  placeIndices(generic, plan);
  return generic.getResult(0);
}

/// Positions along the operator's dimensions are positions along the kernel's axes.
void KernelBuilder::placeIndices(linalg::GenericOp generic, const OpPlan &plan) {
  ArrayRef<AxisRef> domain = group.domainOf(plan.op);
  generic.walk([&](hr::IndexOp index) {
    OpBuilder at(index);
    AxisRef ref = domain[index.getDim()];
    Value position;
    if (ref.isAxis())
      position = at.create<linalg::IndexOp>(index.getLoc(),
                                            llvm::find(plan.axes, ref.getId()) - plan.axes.begin());
    else
      position = at.create<arith::ConstantIndexOp>(index.getLoc(), 0);
    index.replaceAllUsesWith(position);
    index.erase();
  });
}

/// What comes from memory: a slice counts as such, several of one tensor as all of it, once.
SmallVector<Value> KernelBuilder::valuesRead() const {
  SmallVector<Value> values;
  llvm::DenseMap<Value, size_t> placeOf;
  for (const Access &access : external) {
    Value source = access.slice ? hr::SliceOp(access.slice).getInput() : access.value;
    auto [place, isNew] = placeOf.try_emplace(source, values.size());
    if (isNew)
      values.push_back(access.value);
    else if (access.slice)
      values[place->second] = source;
    else
      values.push_back(access.value);
  }
  return values;
}

/// What the kernel reads: every value the group does not compute itself, once per way to read it.
SmallVector<Value> KernelBuilder::collectInputs() {
  SmallVector<Value> inputs;
  for (OpPlan &plan : plans)
    for (auto [i, access] : llvm::enumerate(llvm::drop_end(plan.accesses))) {
      bool computed =
          llvm::any_of(plans, [&](OpPlan &p) { return p.op->getResult(0) == access.value; });
      if (computed)
        continue;
      Value read;
      if (!packPermutation.empty() && plan.op == group.anchor() && i == 1) {
        read = packed(access);
        View view;
        for (int64_t dim : packPermutation)
          view.push_back(access.view[dim]);
        access.view = view;
      }
      if (llvm::is_contained(external, access))
        continue;
      external.push_back(access);
      inputs.push_back(read ? read : asView(access));
    }
  return inputs;
}

hr::KernelOp KernelBuilder::createKernel(ArrayRef<Value> inputs, ArrayRef<Type> results) {
  AffineExpr bytesRead = constantDim(0, context), bytesWritten = bytesRead, operations = bytesRead;
  for (Value value : valuesRead())
    bytesRead = bytesRead + byteCount(cast<RankedTensorType>(value.getType()));
  for (Type type : results)
    bytesWritten = bytesWritten + byteCount(cast<RankedTensorType>(type));
  AffineExpr bytesApart = constantDim(0, context);
  SmallVector<std::string> names;
  for (OpPlan &plan : plans) {
    operations = operations + plan.op.getMovement().operations(context);
    for (const Access &access : plan.accesses)
      bytesApart = bytesApart + byteCount(cast<RankedTensorType>(access.value.getType()));
    std::string name = operatorName(plan.op);
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  }
  SmallVector<StringRef> nameRefs(names.begin(), names.end());
  SmallVector<AffineExpr> cost{bytesRead, bytesWritten, operations};
  if (plans.size() > 1)
    cost.push_back(normalized(bytesApart - bytesRead - bytesWritten));
  hr::OperatorInterface root = group.root(), named = group.anchor() ? group.anchor() : root;
  auto kernel = b.create<hr::KernelOp>(
      root->getLoc(), results, inputs, b.getStringAttr(kernelName(named)),
      b.getStrArrayAttr(nameRefs),
      AffineMapAttr::get(symbolMap(cost, context)));
  Block *block = b.createBlock(&kernel.getBody());
  for (Value input : inputs)
    block->addArgument(plainType(input.getType()), root->getLoc());
  return kernel;
}

/// The operators in program order, each on the rows of a block where the group walks. `parts` are
/// what they read of the kernel's arguments.
llvm::DenseMap<Value, Value> KernelBuilder::emitOperators(OpBuilder &inner, ArrayRef<Value> parts,
                                                          const Rows *rows) {
  SmallVector<Value> read(parts);
  for (auto [access, part] : llvm::zip_equal(external, read)) {
    if (!rows || !startsWithRows(access))
      continue;
    SmallVector<OpFoldResult> offsets(access.view.size(), inner.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(access.view.size(), inner.getIndexAttr(1));
    offsets.front() = rows->first;
    Location loc = access.value.getLoc();
    part = inner.create<tensor::ExtractSliceOp>(loc, part, offsets,
                                                sizesIn(inner, loc, access, rows), strides);
  }
  llvm::DenseMap<Value, Value> computed;
  for (OpPlan &plan : plans) {
    SmallVector<Value> operands;
    for (const Access &access : ArrayRef(plan.accesses).drop_back())
      if (Value inside = computed.lookup(access.value))
        operands.push_back(inside);
      else
        operands.push_back(read[llvm::find(external, access) - external.begin()]);
    computed[plan.op->getResult(0)] = emitOperator(inner, plan, operands, rows);
  }
  return computed;
}

/// How many rows a block has: a fixed part of all where something is combined over them, else what
/// makes a cell of reasonable size.
AffineExpr KernelBuilder::rowsPerBlock() const {
  constexpr int64_t kPointsPerCell = 1 << 14;
  bool onlyRows = llvm::all_of(plans, [](const OpPlan &plan) { return plan.axes.size() == 1; });
  int64_t unit = onlyRows ? 64 : 8; // blocks begin where whole vectors or groups of rows do
  if (hasAccumulation())
    return sizes[*group.walkAxis()].ceilDiv(group.walkBlocks() * unit) * unit;
  int64_t row = 1;
  for (auto [axis, size] : llvm::enumerate(sizes))
    if (static_cast<int>(axis) != *group.walkAxis() &&
        llvm::any_of(plans, [&](const OpPlan &p) { return llvm::is_contained(p.axes, axis); }))
      row *= constantValue(size).value_or(64);
  return constantDim(std::max<int64_t>(1, kPointsPerCell / row / unit) * unit, context);
}

KernelBuilder::Rows KernelBuilder::rowsOf(OpBuilder &inner, Location loc, Value block) {
  auto value = [&](AffineExpr size) {
    return getValueOrCreateConstantIndexOp(inner, loc, sizeOperand(inner, loc, size));
  };
  Value perBlock = value(rowsPerBlock()), all = value(sizes[*group.walkAxis()]);
  Value start = inner.create<arith::MulIOp>(loc, block, perBlock);
  Value first = inner.create<arith::MinSIOp>(loc, start, all);
  Value left = inner.create<arith::SubIOp>(loc, all, first);
  return {block, first, inner.create<arith::MinSIOp>(loc, perBlock, left)};
}

/// The type of what the kernel stores of an operator.
RankedTensorType KernelBuilder::storedType(const OpPlan &plan) const {
  const Access &result = plan.accesses.back();
  SmallVector<AffineExpr> shape = sizesOf(result);
  if (plan.accumulates)
    shape.insert(shape.begin(), constantDim(group.walkBlocks(), context));
  return tensorType(shape, cast<RankedTensorType>(result.value.getType()).getElementType());
}

/// A walking kernel: all operators on one block of rows after the other.
SmallVector<Value> KernelBuilder::emitBlocks(ArrayRef<Value> parts, ArrayRef<Type> results) {
  Location loc = group.root()->getLoc();
  SmallVector<Value> inits;
  for (Type type : results) {
    auto tensor = cast<RankedTensorType>(type);
    inits.push_back(emptyTensor(b, loc, shapeOf(tensor), tensor.getElementType()));
  }
  AffineExpr cells = hasAccumulation() ? constantDim(group.walkBlocks(), context)
                                       : sizes[*group.walkAxis()].ceilDiv(rowsPerBlock());
  SmallVector<OpFoldResult> bounds{sizeOperand(b, loc, cells)};
  auto emitBody = [&](OpBuilder &inner, Location, ValueRange arguments) {
    Rows rows = rowsOf(inner, loc, arguments.front());
    llvm::DenseMap<Value, Value> computed = emitOperators(inner, parts, &rows);
    struct Store {
      Value value;
      SmallVector<OpFoldResult> offsets, sizes;
    };
    SmallVector<Store> stores;
    for (const OpPlan &plan : plans) {
      if (!plan.stored)
        continue;
      Store store{
          computed[plan.op->getResult(0)], {}, sizesIn(inner, loc, plan.accesses.back(), &rows)};
      store.offsets.assign(store.sizes.size(), inner.getIndexAttr(0));
      if (plan.accumulates) {
        store.sizes.insert(store.sizes.begin(), inner.getIndexAttr(1));
        store.offsets.insert(store.offsets.begin(), rows.block);
      } else {
        store.offsets.front() = rows.first;
      }
      stores.push_back(std::move(store));
    }
    auto terminator = inner.create<scf::InParallelOp>(loc);
    inner.setInsertionPointToEnd(terminator.getBody());
    for (auto [store, destination] : llvm::zip_equal(stores, arguments.drop_front())) {
      SmallVector<OpFoldResult> strides(store.offsets.size(), inner.getIndexAttr(1));
      inner.create<tensor::ParallelInsertSliceOp>(loc, store.value, destination, store.offsets,
                                                  store.sizes, strides);
    }
  };
  auto walk = b.create<scf::ForallOp>(loc, bounds, inits, /*mapping=*/std::nullopt, emitBody);
  return walk.getResults();
}

/// The result of an operator from the partial results of all blocks.
Value KernelBuilder::combined(const OpPlan &plan, Value partial) {
  Operation *op = plan.op;
  auto reduce = dyn_cast<hr::ReduceOp>(op);
  hr::ReduceKind kind = reduce ? reduce.getKind() : hr::ReduceKind::Sum;
  auto all = b.create<hr::ReduceOp>(plan.op->getLoc(), partial, kind, ArrayRef<int64_t>{0},
                                    /*keep_dims=*/false);
  KernelGroup small(cast<hr::OperatorInterface>(all.getOperation()), /*whole=*/true);
  Value result = buildKernel(b, small, machine).front().second;
  all.erase();
  return result;
}

SmallVector<Replacement> KernelBuilder::build() {
  planOperators();
  mergeAxes();
  splitFeatures();
  orderAxes();

  SmallVector<Value> inputs = collectInputs();
  SmallVector<Type> results;
  for (const OpPlan &plan : plans)
    if (plan.stored)
      results.push_back(storedType(plan));
  hr::KernelOp kernel = createKernel(inputs, results);
  SmallVector<Value> parts, yields;
  for (auto [access, argument] : llvm::zip_equal(external, kernel.getBody().getArguments()))
    parts.push_back(partOf(b, access, argument));
  if (group.walkAxis()) {
    yields = emitBlocks(parts, results);
  } else {
    llvm::DenseMap<Value, Value> computed = emitOperators(b, parts, nullptr);
    for (const OpPlan &plan : plans)
      if (plan.stored)
        yields.push_back(computed[plan.op->getResult(0)]);
  }
  b.create<hr::YieldOp>(kernel.getLoc(), yields);
  b.setInsertionPointAfter(kernel);

  SmallVector<Replacement> replacements;
  unsigned next = 0;
  for (const OpPlan &plan : plans) {
    if (!plan.stored)
      continue;
    Value out = kernel.getResult(next++);
    if (plan.accumulates)
      out = combined(plan, out);
    Type type = plan.op->getResult(0).getType();
    if (out.getType() != type)
      out = b.create<hr::ReshapeOp>(plan.op->getLoc(), type, out);
    replacements.emplace_back(plan.op, out);
  }
  return replacements;
}

} // namespace

SmallVector<Replacement> buildKernel(OpBuilder &builder, const KernelGroup &group,
                                     const Machine &machine) {
  return KernelBuilder(builder, group, machine).build();
}

} // namespace headrace
