#include "rewrite/tensor/TensorLanguage.h"

#include "rewrite/tensor/Functions.h"

namespace headrace::rewrite {

std::optional<Language::OperatorSignature>
TensorLanguage::operatorNamed(std::string_view name) const {
  const TensorOperator *found = operators.find(name);
  return found ? std::optional(found->signature) : std::nullopt;
}

std::optional<Language::FunctionSignature>
TensorLanguage::functionNamed(std::string_view name) const {
  if (name == "size")
    return FunctionSignature{Kind::Subject, Kind::Number};
  if (name == "rank" || name == "elements" || name == "onChip" || name == "fitsChip")
    return FunctionSignature{Kind::Subject};
  if (name == "min" || name == "max")
    return FunctionSignature{Kind::Number, Kind::Number};
  if (name == "reorders" || name == "computes")
    return FunctionSignature{Kind::Name};
  return {};
}

bool TensorLanguage::hasName(std::string_view name) const { return scalarFunction(name); }

// Operators of machines begin with a capital letter, and all their attributes are sizes. Vector
// stands for those that work on vectors.
std::optional<size_t> TensorLanguage::sizesOf(std::string_view name) const {
  if (name == "Vector")
    return 1;
  const TensorOperator *found = operators.find(name);
  if (!found || name[0] < 'A' || name[0] > 'Z')
    return {};
  return found->signature.attributes.size();
}

} // namespace headrace::rewrite
