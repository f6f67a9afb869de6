// Signatures of the operators in rules and terms, so that a misspelt name is an error at its place
// and not a rule that never applies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::rewrite {

class Language {
public:
  enum class Kind { Number, Name, Subject };

  struct OperatorSignature {
    std::vector<Kind> attributes;
    bool moreNumbers = false; ///< any number of numbers may follow
    size_t operands = 0;
  };
  using FunctionSignature = std::vector<Kind>;

  virtual ~Language() = default;
  virtual std::optional<OperatorSignature> operatorNamed(std::string_view name) const = 0;
  /// Functions of expressions.
  virtual std::optional<FunctionSignature> functionNamed(std::string_view name) const = 0;
  /// Names that attributes may have.
  virtual bool hasName(std::string_view name) const = 0;
  /// The operator whose sizes `for` goes through: how many numbers a size is. Nothing if `for`
  /// cannot go through it.
  virtual std::optional<size_t> sizesOf(std::string_view name) const = 0;
};

} // namespace headrace::rewrite
