#include "optimize/Operators.h"

#include "dialect/Hr.h"
#include "driver/RunPasses.h"
#include "transform/choices/Verbs.h"

#include "mlir/IR/OperationSupport.h"

#include "optimize/Cut.h"

using namespace mlir;

namespace headrace::optimize {

Operators::Operators(const Planner::Checkpoint &checkpoint)
    : entry(entryFunction(*checkpoint.program)), names(entry.getBody().front()),
      followed(checkpoint.followed) {
  for (Operation &op : entry.getBody().front())
    if (StringRef name = names.of(&op); !name.empty()) {
      ops[name] = &op;
      inOrder.push_back(&op);
    }
  for (Operation *op : inOrder)
    if (names.of(op) != unnumbered(op))
      numbered[unnumbered(op)].push_back(op);
  for (auto &entry : numbered)
    if (auto first = ops.find(entry.first()); first != ops.end())
      entry.second.push_back(first->second);
}

StringRef Operators::unnumbered(Operation *op) const {
  auto [base, number] = names.of(op).rsplit('.');
  bool isNumber = !number.empty() && llvm::all_of(number, llvm::isDigit);
  return isNumber && names.nodeOf(op) != names.of(op) ? base : names.of(op);
}

bool areEqual(Operation *a, const OperatorNames &ofA, Operation *b, const OperatorNames &ofB) {
  auto isSameValue = [&](Value one, Value other) -> bool {
    auto constant = one.getDefiningOp<hr::ConstantOp>();
    auto otherConstant = other.getDefiningOp<hr::ConstantOp>();
    if (constant && otherConstant) {
      bool areLarge = isa<DenseResourceElementsAttr>(constant.getValue()) &&
                      isa<DenseResourceElementsAttr>(otherConstant.getValue());
      return constant.getType() == otherConstant.getType() &&
             (areLarge || constant.getValue() == otherConstant.getValue());
    }
    return one.getType() == other.getType() && nameOfValue(one, ofA) == nameOfValue(other, ofB);
  };
  if (a->getNumOperands() != b->getNumOperands() || a->getName() != b->getName() ||
      a->getAttrDictionary() != b->getAttrDictionary() ||
      a->getResultTypes() != b->getResultTypes())
    return false;
  for (auto [one, other] : llvm::zip_equal(a->getOperands(), b->getOperands()))
    if (!isSameValue(one, other))
      return false;
  return llvm::all_of(llvm::zip_equal(a->getRegions(), b->getRegions()), [](auto regions) {
    auto &[one, other] = regions;
    return OperationEquivalence::isRegionEquivalentTo(&one, &other,
                                                      OperationEquivalence::IgnoreLocations);
  });
}

KernelsOfOperators::KernelsOfOperators(const ProgramRecipe &recipe) {
  for (const ProgramRecipe::Kernel &kernel : recipe.kernels)
    kernels[kernel.name] = kernel.name;
  for (const ProgramStep &step : recipe.steps)
    if (step.verb == verbs::fuse.name)
      kernels[step.subject] = step.object;
}

StringRef KernelsOfOperators::of(StringRef op) const {
  auto found = kernels.find(op);
  return found == kernels.end() ? StringRef() : StringRef(found->second);
}

std::string KernelsOfOperators::around(StringRef step) const {
  constexpr StringLiteral kCombine = "/combine";
  if (StringRef own = of(step); !own.empty() && !step.contains(kCombine))
    return own.str();
  auto [base, rest] = step.rsplit(kCombine);
  return !rest.contains('/') && !of(base).empty() ? of(base).str() : step.str();
}

} // namespace headrace::optimize
