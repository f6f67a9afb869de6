#include "transform/KernelBuilder.h"

#include "dialect/KernelSizes.h"
#include "transform/recipe/KernelModel.h"
#include "transform/recipe/ProgramModel.h"

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

  Value build();

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
    SmallVector<std::string> names;      // by which recipes speak of each; empty: they do not
    SmallVector<std::string> units;      // names of dimensions of one point
    SmallVector<Access> accesses;        // operands, then the result
    SmallVector<int> indexed;            // axes whose position the body reads

    bool reads(int axis) const { return llvm::is_contained(indexed, axis); }
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
  Value emitOperator(OpBuilder &inner, const OpPlan &plan, ArrayRef<Value> operands);
  void nameStage(linalg::GenericOp generic, const OpPlan &plan);
  void placeIndices(linalg::GenericOp generic, const OpPlan &plan);
  static SmallVector<Value> valuesRead(ArrayRef<Access> external);
  AffineExpr axisExpr(int axis) const { return getAffineDimExpr(axis, context); }
  ViewDim axisDim(int axis) const { return {axisExpr(axis), AffineExpr()}; }

  OpBuilder &b;
  const KernelGroup &group;
  const Machine &machine;
  MLIRContext *context;
  SmallVector<AffineExpr> sizes; // of each axis
  std::vector<OpPlan> plans;     // in program order
  SmallVector<int> order;        // rank of each axis in loop order
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
  for (hr::OperatorInterface op : llvm::reverse(group.getOperators())) {
    Movement m = op.getMovement();
    ArrayRef<AxisRef> domain = group.domainOf(op);
    OpPlan plan{op, {}, {}, {}, {}, {}, {}};
    bool hasNames = op->hasAttr(kAxesAttr) || group.keepsAxes();
    for (auto [dim, ref, kind] : llvm::enumerate(domain, m.iterators)) {
      if (ref.isAxis()) {
        plan.axes.push_back(ref.getId());
        plan.iterators.push_back(kind);
      }
      if (hasNames)
        (ref.isAxis() ? plan.names : plan.units).push_back(axisName(op, dim));
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
  if (constantValue(sizes[a]).has_value() != constantValue(sizes[b]).has_value())
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
            size_t position = at - plan.axes.begin();
            if (!plan.names.empty()) {
              plan.names[llvm::find(plan.axes, a) - plan.axes.begin()] +=
                  "_" + plan.names[position];
              plan.names.erase(plan.names.begin() + position);
            }
            plan.iterators.erase(plan.iterators.begin() + position);
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
  if (!group.anchor() || isa<hr::PoolOp, hr::ComputeOp>(group.anchor().getOperation()))
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
        if (!plan.names.empty())
          plan.names.push_back(plan.names[at - plan.axes.begin()] + "_t");
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
    SmallVector<size_t> sorted(plan.axes.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    llvm::sort(sorted,
               [&](size_t x, size_t y) { return order[plan.axes[x]] < order[plan.axes[y]]; });
    OpPlan unsorted = plan;
    for (auto [i, from] : llvm::enumerate(sorted)) {
      plan.axes[i] = unsorted.axes[from];
      plan.iterators[i] = unsorted.iterators[from];
      if (!plan.names.empty())
        plan.names[i] = unsorted.names[from];
    }
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

Value KernelBuilder::emitOperator(OpBuilder &inner, const OpPlan &plan, ArrayRef<Value> operands) {
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
  Value init = emptyTensor(inner, loc, sizesOf(result), element);
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
  nameStage(generic, plan);
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
SmallVector<Value> KernelBuilder::valuesRead(ArrayRef<Access> external) {
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

/// What recipes call the operation and its loops.
void KernelBuilder::nameStage(linalg::GenericOp generic, const OpPlan &plan) {
  auto list = [&](ArrayRef<std::string> names) {
    return b.getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end()));
  };
  StringRef stage = stageOf(plan.op);
  generic->setAttr(kStageAttr,
                   b.getStringAttr(stage.empty() ? plan.op->getName().stripDialect() : stage));
  if (!plan.names.empty())
    generic->setAttr(kAxesAttr, list(plan.names));
  if (!plan.units.empty())
    generic->setAttr(kUnitAxesAttr, list(plan.units));
}

Value KernelBuilder::build() {
  planOperators();
  if (!group.keepsAxes()) {
    mergeAxes();
    splitFeatures();
  }
  orderAxes();

  // What the kernel reads: every value the group does not compute itself, once per way to read it.
  SmallVector<Value> inputs;
  SmallVector<Access> external;
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

  hr::OperatorInterface root = group.root();
  const Access &result = plans.back().accesses.back();
  Type element = cast<RankedTensorType>(result.value.getType()).getElementType();
  RankedTensorType resultType = tensorType(sizesOf(result), element);

  AffineExpr bytesRead = constantDim(0, context), operations = bytesRead;
  for (Value value : valuesRead(external))
    bytesRead = bytesRead + byteCount(cast<RankedTensorType>(value.getType()));
  SmallVector<std::string> names;
  SmallVector<StringRef> nameRefs;
  for (OpPlan &plan : plans) {
    operations = operations + plan.op.getMovement().operations(context);
    std::string name = operatorName(plan.op);
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  }
  nameRefs.assign(names.begin(), names.end());
  hr::OperatorInterface named = group.anchor() ? group.anchor() : root;
  auto kernel = b.create<hr::KernelOp>(
      root->getLoc(), TypeRange{resultType}, inputs, b.getStringAttr(kernelName(named)),
      b.getStrArrayAttr(nameRefs),
      AffineMapAttr::get(symbolMap({bytesRead, byteCount(resultType), operations}, context)));
  if (group.keepsAxes()) {
    SmallVector<std::string> inputNames;
    for (const Access &access : external)
      inputNames.push_back(programSourceName(access.value));
    kernel->setAttr(kInputNamesAttr, b.getStrArrayAttr(SmallVector<StringRef>(inputNames.begin(),
                                                                              inputNames.end())));
  }
  Block *block = b.createBlock(&kernel.getBody());
  for (Value input : inputs)
    block->addArgument(plainType(input.getType()), root->getLoc());
  llvm::DenseMap<Value, Value> computed;
  for (OpPlan &plan : plans) {
    SmallVector<Value> operands;
    for (const Access &access : ArrayRef(plan.accesses).drop_back())
      if (Value inside = computed.lookup(access.value))
        operands.push_back(partOf(b, access, inside));
      else
        operands.push_back(
            partOf(b, access, block->getArgument(llvm::find(external, access) - external.begin())));
    computed[plan.op->getResult(0)] = emitOperator(b, plan, operands);
  }
  b.create<hr::YieldOp>(root->getLoc(), computed[root->getResult(0)]);
  b.setInsertionPointAfter(kernel);
  Value out = kernel.getResult(0);
  if (out.getType() != root->getResult(0).getType())
    out = b.create<hr::ReshapeOp>(root->getLoc(), root->getResult(0).getType(), out);
  return out;
}

} // namespace

Value buildKernel(OpBuilder &builder, const KernelGroup &group, const Machine &machine) {
  return KernelBuilder(builder, group, machine).build();
}

} // namespace headrace
