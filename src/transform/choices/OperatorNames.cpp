#include "transform/choices/OperatorNames.h"

#include "transform/recipe/ProgramModel.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace headrace {

OperatorNames::OperatorNames(Block &program) {
  llvm::StringMap<int> ofNode, ofKind;
  // An operator without a name is called as its kind is.
  auto kindOf = [](Operation *op, const std::string &node) {
    std::string kind = op->getName().stripDialect().str();
    return node == kind ? node : node + "/" + kind;
  };
  SmallVector<Operation *> operators;
  for (Operation &op : program)
    if (isa<hr::OperatorInterface>(op) && !isa<hr::ConstantOp>(op)) {
      operators.push_back(&op);
      ++ofNode[plainName(operatorName(&op))];
    }
  for (Operation *op : operators) {
    std::string node = plainName(operatorName(op)), own = node;
    if (ofNode[node] > 1) {
      own = kindOf(op, node);
      if (int number = ofKind[own]++)
        own += "." + std::to_string(number);
    }
    names[op] = {own, node};
  }
}

StringRef OperatorNames::of(Operation *op) const {
  auto found = names.find(op);
  return found == names.end() ? StringRef() : StringRef(found->second.own);
}

/// "reduce over last axis", "conv of 3x3", "map".
static bool hasStructure(StringRef structure, Operation *op) {
  auto [kind, rest] = structure.split(' ');
  if (op->getName().stripDialect() != kind)
    return false;
  if (rest == "over last axis") {
    auto reduce = dyn_cast<hr::ReduceOp>(op);
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    return reduce && reduce.getAxes().size() == 1 && reduce.getAxes()[0] == type.getRank() - 1;
  }
  if (rest.consume_front("of ")) {
    auto conv = dyn_cast<hr::ConvOp>(op);
    auto pool = dyn_cast<hr::PoolOp>(op);
    SmallVector<int64_t> window;
    if (conv) {
      ArrayRef<int64_t> filter = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
      bool first = conv.getLayout() == hr::ChannelLayout::First;
      window = llvm::to_vector(first ? filter.drop_front(2) : filter.drop_back(2));
    } else if (pool) {
      window = llvm::to_vector(pool.getWindow());
    }
    return rest ==
           llvm::join(llvm::map_range(window, [](int64_t n) { return std::to_string(n); }), "x");
  }
  return rest.empty();
}

OperatorNames::Match OperatorNames::match(StringRef name, Operation *op) const {
  auto found = names.find(op);
  if (found == names.end())
    return Match::None;
  if (name.consume_front(kEvery))
    return hasStructure(name, op) ? Match::Structure : Match::None;
  return name == found->second.own    ? Match::Own
         : name == found->second.node ? Match::Node
                                      : Match::None;
}

bool OperatorNames::isKnown(StringRef name) const {
  return llvm::any_of(names, [&](const auto &entry) { return means(name, entry.first); });
}

std::string OperatorNames::similarTo(StringRef name) const {
  constexpr size_t kMost = 5;
  std::set<std::pair<unsigned, StringRef>> byDistance;
  for (const auto &entry : names)
    byDistance.emplace(name.edit_distance(entry.second.own), entry.second.own);
  std::string list;
  size_t count = 0;
  for (const auto &[distance, similar] : byDistance) {
    if (count++ == kMost)
      break;
    list += (list.empty() ? "'" : ", '") + similar.str() + "'";
  }
  return list;
}

} // namespace headrace
