#include "transform/choices/OperatorNames.h"

#include "runtime/system/Listing.h"
#include "transform/choices/Suggestion.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace headrace {

std::string plainName(StringRef name) {
  std::string plain;
  for (char c : name)
    plain += llvm::isAlnum(c) || c == '_' || c == '.' || c == '/' ? c : '_';
  return plain.empty() ? "stage" : plain;
}

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
  if (auto shared = program.getParentOp()->getAttrOfType<ArrayAttr>(kSharedNodesAttr))
    for (StringRef node : shared.getAsValueRange<StringAttr>())
      ++ofNode[node];
  for (Operation *op : operators) {
    std::string node = plainName(operatorName(op)), own = node;
    if (ofNode[node] > 1) {
      own = kindOf(op, node);
      if (int number = ofKind[own]++)
        own += "." + std::to_string(number);
    }
    names[op] = {own, node, operatorName(op), op->getName().stripDialect().str(),
                 cast<hr::OperatorInterface>(op).getFusionRole() == FusionRole::Anchor};
  }
}

StringRef OperatorNames::of(Operation *op) const {
  auto found = names.find(op);
  return found == names.end() ? StringRef() : StringRef(found->second.own);
}

static constexpr StringLiteral kOverLastAxis = "over last axis", kOf = "of ";

/// "reduce over last axis", "conv of 3x3", "map".
static bool hasStructure(StringRef structure, Operation *op) {
  auto [kind, rest] = structure.split(' ');
  if (op->getName().stripDialect() != kind)
    return false;
  if (rest == kOverLastAxis) {
    auto reduce = dyn_cast<hr::ReduceOp>(op);
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    return reduce && reduce.getAxes().size() == 1 && reduce.getAxes()[0] == type.getRank() - 1;
  }
  if (rest.consume_front(kOf)) {
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
  const Name &known = found->second;
  return name == known.own                               ? Match::Own
         : name == known.node || name == known.asWritten ? Match::Node
                                                         : Match::None;
}

bool OperatorNames::isKnown(StringRef name) const {
  return llvm::any_of(names, [&](const auto &entry) { return means(name, entry.first); });
}

StringRef OperatorNames::ofKernel(StringRef name) const {
  const Name *found = nullptr;
  for (const auto &[op, known] : names) {
    if (name == known.own)
      return known.own;
    bool isOfNode = name == known.node || name == known.asWritten;
    if (!isOfNode && name != known.asWritten + ":" + known.kind)
      continue;
    if (!found || known.isAnchor || !found->isAnchor)
      found = &known;
  }
  return found ? StringRef(found->own) : StringRef();
}

StringRef OperatorNames::nodeOf(Operation *op) const {
  auto found = names.find(op);
  return found == names.end() ? StringRef() : StringRef(found->second.node);
}

/// "conv", without its dialect.
template <class Op> static StringRef kindOf() { return Op::getOperationName().split('.').second; }

std::string faultOfKind(StringRef kind, MLIRContext *context) {
  std::vector<StringRef> kinds;
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.hasInterface<hr::OperatorInterface>() &&
        op.getStringRef() != hr::ConstantOp::getOperationName())
      kinds.push_back(op.stripDialect());
  llvm::sort(kinds);
  auto [word, rest] = kind.split(' ');
  if (!llvm::is_contained(kinds, word))
    return "expected a kind of operators (" + listed(kinds, ", ") + "), got '" + word.str() + "'" +
           suggestion(word, kinds);
  auto gotRest = [&, rest = rest](StringRef expected, ArrayRef<StringRef> words) {
    return "expected " + expected.str() + " behind '" + word.str() + "', got '" + rest.str() + "'" +
           suggestion(rest, words);
  };
  StringRef window = rest;
  if (rest.empty())
    return "";
  if (word == kindOf<hr::ReduceOp>())
    return rest == kOverLastAxis ? "" : gotRest("'over last axis'", {kOverLastAxis});
  if (word != kindOf<hr::ConvOp>() && word != kindOf<hr::PoolOp>())
    return gotRest("nothing", {});
  return window.consume_front(kOf) && window.find_first_not_of("0123456789x") == StringRef::npos
             ? ""
             : gotRest("a window such as 'of 3x3'", {});
}

std::string OperatorNames::similarTo(StringRef name) const {
  constexpr size_t kMax = 5;
  std::set<std::pair<size_t, StringRef>> byDistance;
  for (const auto &entry : names)
    byDistance.emplace(editDistance(name, entry.second.own), entry.second.own);
  std::string list;
  size_t count = 0;
  for (const auto &[distance, similar] : byDistance) {
    if (count++ == kMax)
      break;
    list += (list.empty() ? "'" : ", '") + similar.str() + "'";
  }
  return list;
}

} // namespace headrace
