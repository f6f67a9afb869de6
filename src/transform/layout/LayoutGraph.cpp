#include "transform/layout/LayoutGraph.h"

#include "dialect/SymbolicShape.h"
#include "transform/choices/Verbs.h"
#include "transform/common/MinimumCut.h"
#include "transform/layout/BlockChannels.h"

using namespace mlir;

namespace headrace {

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

LayoutRole layoutRole(Operation *op) {
  auto layered = dyn_cast<hr::OperatorInterface>(op);
  if (!layered || op->getNumOperands() == 0 || isKnown(op->getResult(0)))
    return {};
  return layered.getLayoutRole();
}

namespace {

/// The choice as a minimum cut: operators on the source's side work as written, those on the
/// sink's side channels last. A value that is needed in the layout it does not have costs its size
/// once, however many ask for it.
class LayoutGraph {
public:
  LayoutGraph(Block &block, Choices &choices) : choices(choices) {
    for (Operation &op : block)
      if (LayoutRole role = layoutRole(&op); role.flexible) {
        int node = nodes[&op] = cut.addNode();
        std::optional<std::string> given = choices.wanted(verbs::layout, &op);
        std::optional<int64_t> blocks = given ? blockSize(*given) : std::nullopt;
        if (blocks)
          askForBlocks(&op, *blocks);
        if (given ? *given == kLast || blocks : role.wantsLast)
          cut.addEdge(node, channelsLast, MinimumCut::kUncut);
        else if (given)
          cut.addEdge(asWritten, node, MinimumCut::kUncut);
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
    if (llvm::all_of(nodes, [&](auto entry) { return stays[entry.second]; }))
      return chosen; // there is nothing that gains by another layout
    for (auto [op, node] : nodes) {
      auto blocks = op->getAttrOfType<IntegerAttr>(kBlockedAttr);
      choices.note(verbs::layout, op,
                   blocks        ? "blocked" + std::to_string(blocks.getInt())
                   : stays[node] ? kFirst.str()
                                 : kLast.str());
      if (!stays[node])
        chosen[op] = layoutRole(op);
      else
        choices.noteMissed(verbs::layout, op, kLast, "more data would be transposed on its way");
    }
    return chosen;
  }

private:
  static constexpr StringLiteral kLast = "channels-last", kFirst = "channels-first";

  /// The bias of a convolution's node follows the convolution: a step that names the node
  /// speaks of the convolution. One that names the other part alone does not.
  bool followsConvolution(Operation *op, int64_t size) {
    return !isa<hr::ConvOp>(op) &&
           llvm::any_of(op->getBlock()->getOps<hr::ConvOp>(), [&](auto conv) {
             std::optional<std::string> wanted;
             if (operatorName(conv) == operatorName(op))
               wanted = choices.wanted(verbs::layout, conv);
             return wanted && blockSize(*wanted) == size;
           });
  }

  void askForBlocks(Operation *op, int64_t size) {
    if (followsConvolution(op, size))
      return;
    if (std::string reason = unsupportedBlockedReason(op, size); !reason.empty())
      return choices.refuse(verbs::layout, op, reason);
    op->setAttr(kBlockedAttr, Builder(op->getContext()).getI64IntegerAttr(size));
  }

  /// Elements that a transpose between the layouts moves; one if it moves none, so that layouts
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
      if (user == asWritten ||
          !cast<hr::OperatorInterface>(op).isImageOperand(use.getOperandNumber())) {
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
  llvm::MapVector<Operation *, int> nodes;
  Choices &choices;
};

} // namespace

llvm::DenseMap<Operation *, LayoutRole> chooseChannelsLast(Block &block, Choices &choices) {
  return LayoutGraph(block, choices).solve();
}

} // namespace headrace
