#include "transform/layout/LayoutGraph.h"

#include "dialect/SymbolicShape.h"
#include "transform/gradient/MinimumCut.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace headrace {

Permutation channelsLastPermutation(int64_t rank) {
  Permutation permutation{0};
  for (int64_t i = 2; i < rank; ++i)
    permutation.push_back(i);
  permutation.push_back(1);
  return permutation;
}

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

static LayoutRole reduceRole(hr::ReduceOp op) {
  if (op.getKeepDims())
    return {true, false, true};
  // Without the reduced dimensions the result must be the same in either layout.
  int64_t last = -1;
  for (int64_t dim : channelsLastPermutation(rankOf(op.getInput()))) {
    if (llvm::is_contained(op.getAxes(), dim))
      continue;
    if (dim < last)
      return {};
    last = dim;
  }
  return {true, false, false};
}

/// A transpose between the two layouts gives one of them for free.
static LayoutRole transposeRole(hr::TransposeOp op) {
  Permutation toLast = channelsLastPermutation(rankOf(op.getInput()));
  bool isToLast = llvm::equal(op.getPermutation(), toLast);
  bool isToFirst = llvm::equal(op.getPermutation(), inverse(toLast));
  // With one spatial dimension it is both; what it reads says which one is meant.
  if (isToLast && isToFirst) {
    Operation *producer = op.getInput().getDefiningOp();
    isToFirst = !producer || !layoutRole(producer).resultIsImage;
    isToLast = !isToFirst;
  }
  if (isToLast)
    return {true, true, false};
  return isToFirst ? LayoutRole{true, true, true} : LayoutRole{};
}

/// One feature is no vector, and channels first the vectors run along rows. A window of one
/// position is a product instead, whose sums run along the channels.
static bool isBetterAlongRows(hr::ConvOp op) {
  SymbolicShape filter = shapeOf(op.getFilter());
  return constantValue(filter.front()) == 1 &&
         llvm::any_of(ArrayRef(filter).drop_front(2),
                      [](AffineExpr size) { return constantValue(size) != 1; });
}

LayoutRole layoutRole(Operation *op) {
  if (!isa<hr::OperatorInterface>(op) || op->getNumOperands() == 0 || isKnown(op->getResult(0)))
    return {};
  LayoutRole fixed, follows{true, false, true}, wants{true, true, true};
  auto wantsIfFirst = [&](auto window) {
    return window.getLayout() == hr::ChannelLayout::First ? wants : fixed;
  };
  if (auto norm = dyn_cast<hr::BatchNormOp>(op))
    return wantsIfFirst(norm);
  if (std::max(rankOf(op->getOperand(0)), rankOf(op->getResult(0))) < 3)
    return fixed;
  return TypeSwitch<Operation *, LayoutRole>(op)
      .Case<hr::ConvOp>(
          [&](hr::ConvOp conv) { return isBetterAlongRows(conv) ? fixed : wantsIfFirst(conv); })
      .Case<hr::PoolOp, hr::PoolIndexOp, hr::UnpoolOp>(wantsIfFirst)
      .Case<hr::ConvFilterOp>([&](hr::ConvFilterOp filter) {
        bool first = filter.getLayout() == hr::ChannelLayout::First;
        return first ? LayoutRole{true, true, false} : fixed;
      })
      .Case<hr::MapOp, hr::PadOp, hr::SliceOp, hr::PlaceOp, hr::ConcatOp, hr::SoftmaxOp,
            hr::BroadcastOp>([&](Operation *) { return follows; })
      .Case<hr::ReduceOp>(reduceRole)
      .Case<hr::ReshapeOp>([&](hr::ReshapeOp reshape) {
        auto type = cast<RankedTensorType>(reshape.getInput().getType());
        bool sameOrder =
            type.getRank() >= 3 && movesUnitDimsOnly(type, channelsLastPermutation(type.getRank()));
        return LayoutRole{sameOrder, false, false};
      })
      .Case<hr::TransposeOp>(transposeRole)
      .Default([&](Operation *) { return fixed; });
}

bool isImageOperand(Operation *op, unsigned index) {
  // Filters and parameters of normalizations come after the image.
  if (isa<hr::PoolIndexOp>(op))
    return index < 2;
  // A transpose to channels first has its result channels last at hand, as what it reads.
  if (isa<hr::TransposeOp>(op))
    return !layoutRole(op).resultIsImage;
  return index == 0 || !isa<hr::ConvOp, hr::BatchNormOp>(op);
}

namespace {

/// The choice as a minimum cut: operators on the source's side work as written, those on the
/// sink's side channels last. A value that is needed in the layout it does not have costs its size
/// once, however many ask for it.
class LayoutGraph {
public:
  explicit LayoutGraph(Block &block) {
    for (Operation &op : block)
      if (LayoutRole role = layoutRole(&op); role.flexible) {
        int node = nodes[&op] = cut.addNode();
        if (role.wantsLast)
          cut.addEdge(node, channelsLast, MinimumCut::kUncut);
      }
    for (BlockArgument argument : block.getArguments())
      addValue(argument);
    for (Operation &op : block)
      for (Value result : op.getResults())
        addValue(result);
  }

  llvm::DenseMap<Operation *, LayoutRole> solve() {
    std::vector<bool> stays = cut.sourceSide(asWritten, channelsLast);
    llvm::DenseMap<Operation *, LayoutRole> chosen;
    for (auto [op, node] : nodes)
      if (!stays[node])
        chosen[op] = layoutRole(op);
    return chosen;
  }

private:
  /// Elements that a transpose between the layouts moves; one where it moves none, so that layouts
  /// do not change without need.
  static int64_t costOf(Value value, int64_t rank) {
    auto type = cast<RankedTensorType>(value.getType());
    SymbolicShape shape = shapeOf(type);
    shape.insert(shape.begin(), rank - type.getRank(), constantDim(1, type.getContext()));
    if (movesUnitDimsOnly(tensorType(shape, type.getElementType()), channelsLastPermutation(rank)))
      return 1;
    // Any size will do for the symbols: it only weighs values against each other.
    SmallVector<std::optional<int64_t>> sizes(64, 16);
    int64_t elements = specialize(type, sizes).getNumElements();
    return std::clamp<int64_t>(elements, 1, int64_t(1) << 40) * 2;
  }

  int nodeOf(Operation *op) {
    auto found = nodes.find(op);
    return found == nodes.end() ? asWritten : found->second;
  }

  void addValue(Value value) {
    if (!isa<RankedTensorType>(value.getType()) || isKnown(value))
      return;
    Operation *producer = value.getDefiningOp();
    bool isImage = producer && layoutRole(producer).resultIsImage;
    SmallVector<int> users;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      int user = nodeOf(op);
      if (user == asWritten || !isImageOperand(op, use.getOperandNumber())) {
        users.push_back(asWritten);
        continue;
      }
      // A map reads lower ranks as images with leading dimensions of size 1.
      int64_t rank = isa<hr::MapOp, hr::BroadcastOp>(op) ? rankOf(op->getResult(0)) : rankOf(value);
      if (rank == rankOf(value)) {
        users.push_back(user);
      } else {
        users.push_back(asWritten);
        cut.addEdge(asWritten, user, costOf(value, rank));
      }
    }
    addMovement(isImage ? nodeOf(producer) : asWritten, users, value);
  }

  void addMovement(int producer, ArrayRef<int> users, Value value) {
    if (llvm::all_of(users, [&](int user) { return user == producer; }))
      return;
    int64_t cost = costOf(value, rankOf(value));
    int toLast = cut.addNode(), toFirst = cut.addNode();
    cut.addEdge(producer, toLast, cost);
    cut.addEdge(toFirst, producer, cost);
    for (int user : users) {
      cut.addEdge(toLast, user, MinimumCut::kUncut);
      cut.addEdge(user, toFirst, MinimumCut::kUncut);
    }
  }

  MinimumCut cut;
  int asWritten = cut.addNode(), channelsLast = cut.addNode();
  llvm::DenseMap<Operation *, int> nodes;
};

} // namespace

llvm::DenseMap<Operation *, LayoutRole> chooseChannelsLast(Block &block) {
  return LayoutGraph(block).solve();
}

} // namespace headrace
