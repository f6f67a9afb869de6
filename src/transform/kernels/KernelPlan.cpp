#include "transform/kernels/KernelPlan.h"

#include "analysis/OperatorWork.h"
#include "analysis/cost/FeatureTiles.h"
#include "transform/recipe/KernelModel.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using utils::IteratorType;

namespace headrace {

KernelPlan::KernelPlan(const KernelGroup &group, const Machine &machine, KernelForm &form)
    : group(group), machine(machine), form(form), context(group.root()->getContext()) {
  for (const Axis &axis : group.getAxes())
    sizes.push_back(axis.size);
  planOperators();
  if (!group.keepsAxes()) {
    mergeAxes();
    splitFeatures();
  }
  Packing &packing = form.packing;
  if (packing.wanted && packing.columns == 0 && packing.refusal.empty())
    packing.refusal = "it has no constant weights that could be packed";
  orderAxes();
}

KernelPlan::Access KernelPlan::accessOf(Value value, AffineMap map, ArrayRef<AxisRef> domain) {
  Access access{value, {}, !map, {}, {}, {}};
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

/// A part of a value that operators of the group alone read does not leave it.
bool KernelPlan::isReadOutside(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<hr::SliceOp>(user);
    bool isPart = slice && !group.contains(slice) && group.keepsAxes() && isReadInPlace(slice);
    return isPart ? isReadOutside(slice.getResult()) : !group.contains(user);
  });
}

void KernelPlan::planOperators() {
  SmallVector<hr::OperatorInterface> operators(group.getOperators());
  llvm::sort(operators, [](hr::OperatorInterface a, hr::OperatorInterface b) {
    return a->isBeforeInBlock(b);
  });
  for (hr::OperatorInterface op : operators) {
    Movement m = op.getMovement();
    ArrayRef<AxisRef> domain = group.domainOf(op);
    OpPlan plan{op, {}, {}, {}, {}, {}, {}};
    plan.stored = op->use_empty() || isReadOutside(op->getResult(0));
    plan.accumulates = group.accumulates(op);
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

std::pair<int64_t, int64_t> KernelPlan::borderAlong(int axis) const {
  hr::PadOp border = group.border();
  if (!border)
    return {0, 0};
  hr::OperatorInterface root = group.root();
  for (auto [i, expr] : llvm::enumerate(root.getMovement().maps.back().getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && group.domainOf(root)[dim.getPosition()] == AxisRef::axis(axis))
      return {border.getLow()[i], border.getHigh()[i]};
  }
  return {0, 0};
}

/// Whether `b` directly follows `a` wherever either is walked.
bool KernelPlan::mergeable(int a, int b) const {
  if (constantValue(sizes[a]).has_value() != constantValue(sizes[b]).has_value() &&
      group.walkAxis() != a)
    return false;
  constexpr std::pair<int64_t, int64_t> kNone{0, 0};
  if (borderAlong(a) != kNone || borderAlong(b) != kNone)
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

void KernelPlan::mergeAxes() {
  for (bool changed = true; changed;) {
    changed = false;
    for (int a = 0; a < static_cast<int>(sizes.size()) && !changed; ++a)
      for (int b = 0; b < static_cast<int>(sizes.size()) && !changed; ++b) {
        bool used = llvm::any_of(plans, [&](const OpPlan &plan) {
          return llvm::is_contained(plan.axes, a) && llvm::is_contained(plan.axes, b);
        });
        if (a == b || !used || !mergeable(a, b))
          continue;
        sizes[a] = normalized(sizes[a] * sizes[b]);
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

/// Slices are taken of the whole features only.
bool KernelPlan::canSplit(int feature) const {
  return llvm::none_of(plans, [&](const OpPlan &plan) {
    return plan.reads(feature) || llvm::any_of(plan.accesses, [&](const Access &access) {
             auto at = llvm::find(access.view, axisDim(feature));
             if (!access.slice || at == access.view.end())
               return false;
             unsigned dim = access.sliceDims[at - access.view.begin()];
             hr::SliceOp slice = access.slice;
             return slice.getSteps()[dim] != 1 ||
                    !sameSize(shapeOf(slice.getInput())[dim], sizes[feature]);
           });
  });
}

/// Sees the dimension along the features as two.
void KernelPlan::split(Access &access, int outer, int inner) const {
  auto at = llvm::find(access.view, axisDim(outer));
  if (at == access.view.end())
    return;
  if (access.slice) {
    auto place = access.sliceDims.begin() + (at - access.view.begin());
    access.splitDim = *place;
    for (unsigned &dim : access.sliceDims)
      dim += dim > *access.splitDim;
    access.sliceDims.insert(place + 1, *access.splitDim + 1);
  }
  access.view.insert(at + 1, axisDim(inner));
}

/// How many columns the tiles of the weights have: as a step or the schedule says, else what should
/// be fastest; 1 if they are not packed.
int64_t KernelPlan::chooseFeatureTile(const Access &rhs, const Access &result, int64_t features) {
  // Vectors hold sums, which may be wider than what is read.
  Type element = getElementTypeOrSelf(group.anchor()->getResult(0));
  FeatureTiles tiles{features,
                     machine.packedLanes(std::max(1u, element.getIntOrFloatBitWidth() / 8)),
                     machine.vectorRegisters};
  double points = 1; // that share the columns, over all dimensions
  for (const ViewDim &dim : ArrayRef(result.view).drop_back())
    if (auto axis = dim.axis(); axis && !llvm::is_contained(rhs.view, dim)) {
      auto rows = constantValue(sizes[*axis]);
      if (rows)
        tiles.rows = *rows;
      points *= rows ? static_cast<double>(*rows) : INFINITY;
    }
  double bytes = bytesAtHints(rhs.value, sizeHints(group.anchor()));
  tiles.columnBytes = bytes / static_cast<double>(features);
  // Weights that are used by one or two tiles of rows come from beyond the cache in any case.
  constexpr double fewPoints = 32;
  tiles.cacheBytes = points > fewPoints ? machine.rates.coreCacheBytes : 0;
  Packing &packing = form.packing;
  if (packing.wanted)
    packing.refusal = tiles.refusalOf(*packing.wanted);
  if (packing.wanted && packing.refusal.empty())
    return *packing.wanted;
  // Other tiles than those that divide the features are parts of what is packed.
  if (packing.tile && !packing.wanted && tiles.refusalOf(*packing.tile).empty())
    return *packing.tile;
  // Weights need not be in the order of tiles if those of a tile stay in the nearest cache, and
  // all of them in the core's.
  double ofTile = tiles.columnBytes * static_cast<double>(2 * tiles.lanes);
  bool areNear =
      ofTile <= machine.rates.nearCacheBytes / 2 && bytes <= machine.rates.coreCacheBytes / 2;
  return areNear && tiles.restPays() ? 1 : std::max<int64_t>(tiles.propose(), 1);
}

/// Splits the features of constant weights into register tiles: the result [.., F] is walked as
/// [.., F/t, t] and the weights are packed as [F/t, .., t], so that a tile's weights are in the
/// order they are used. Weights that are not packed lie along the features all the same, as vectors
/// of them are read.
void KernelPlan::splitFeatures() {
  if (!machine.policy.packsWeights || group.walkAxis() || !group.anchor() ||
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
  auto features = constantValue(sizes[*feature]);
  if (!features || !getElementTypeOrSelf(group.anchor()->getResult(0)).isIntOrFloat())
    return;
  int64_t tile = 1;
  if (canSplit(*feature)) {
    tile = chooseFeatureTile(rhs, result, *features);
    form.packing.columns = tile;
    form.packing.features = *features;
  }
  // A single row is sums along the weights as they are.
  bool isSingleRow = llvm::all_of(
      result.view, [&](const ViewDim &dim) { return llvm::is_contained(rhs.view, dim); });
  if (tile == 1 && (isSingleRow || rhs.view.back() == axisDim(*feature)))
    return;

  int outer = *feature, inner = outer;
  if (tile != 1 && tile != *features) {
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
        split(access, outer, inner);
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

/// Loop order: the result's dimensions as they are in memory, then the reduced dimensions.
void KernelPlan::orderAxes() {
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
  SmallVector<int> order(sizes.size(), 0); // rank of each axis in loop order
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

SmallVector<AffineExpr> KernelPlan::sizesOf(const Access &access) const {
  SmallVector<AffineExpr> result;
  for (const ViewDim &dim : access.view)
    result.push_back(dim.axis() ? sizes[*dim.axis()] : dim.memorySize);
  return result;
}

} // namespace headrace
