#include "target/vta/fixed/Relation.h"

#include "llvm/Support/ErrorHandling.h"

#include <cmath>

using namespace mlir;

namespace headrace::vta {

std::optional<Relation> relationOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) { // ordered or not: nothing is NaN here
  case P::OEQ:
  case P::UEQ:
    return Relation::Equal;
  case P::OGT:
  case P::UGT:
    return Relation::Greater;
  case P::OGE:
  case P::UGE:
    return Relation::GreaterEqual;
  case P::OLT:
  case P::ULT:
    return Relation::Less;
  case P::OLE:
  case P::ULE:
    return Relation::LessEqual;
  case P::ONE:
  case P::UNE:
    return Relation::NotEqual;
  default:
    return std::nullopt;
  }
}

std::optional<Relation> relationOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return Relation::Equal;
  case P::ne:
    return Relation::NotEqual;
  case P::slt:
    return Relation::Less;
  case P::sle:
    return Relation::LessEqual;
  case P::sgt:
    return Relation::Greater;
  case P::sge:
    return Relation::GreaterEqual;
  default:
    return std::nullopt;
  }
}

Relation swapped(Relation relation) {
  switch (relation) {
  case Relation::Less:
    return Relation::Greater;
  case Relation::LessEqual:
    return Relation::GreaterEqual;
  case Relation::Greater:
    return Relation::Less;
  case Relation::GreaterEqual:
    return Relation::LessEqual;
  case Relation::Equal:
  case Relation::NotEqual:
    return relation;
  }
  llvm_unreachable("a relation");
}

bool holds(Relation relation, double a, double b) {
  switch (relation) {
  case Relation::Less:
    return a < b;
  case Relation::LessEqual:
    return a <= b;
  case Relation::Greater:
    return a > b;
  case Relation::GreaterEqual:
    return a >= b;
  case Relation::Equal:
    return a == b;
  case Relation::NotEqual:
    return a != b;
  }
  llvm_unreachable("a relation");
}

Piecewise<bool> integersWith(Relation relation, double number) {
  number = std::clamp(number, -1e15, 1e15);
  auto up = static_cast<int64_t>(std::ceil(number));
  auto above = static_cast<int64_t>(std::floor(number)) + 1;
  switch (relation) {
  case Relation::Less:
    return {true, up, false};
  case Relation::GreaterEqual:
    return {false, up, true};
  case Relation::LessEqual:
    return {true, above, false};
  case Relation::Greater:
    return {false, above, true};
  case Relation::Equal:
  case Relation::NotEqual: {
    bool differs = relation == Relation::NotEqual;
    Piecewise<bool> result(differs);
    if (up != above) { // an integer
      result.append(up, !differs);
      result.append(up + 1, differs);
    }
    return result;
  }
  }
  llvm_unreachable("a relation");
}

} // namespace headrace::vta
