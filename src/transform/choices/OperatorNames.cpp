#include "transform/choices/OperatorNames.h"

#include "transform/recipe/ProgramModel.h"

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

bool OperatorNames::means(StringRef name, Operation *op) const {
  auto found = names.find(op);
  return found != names.end() && (name == found->second.own || name == found->second.node);
}

bool OperatorNames::isKnown(StringRef name) const {
  return llvm::any_of(names, [&](const auto &entry) {
    return name == entry.second.own || name == entry.second.node;
  });
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
