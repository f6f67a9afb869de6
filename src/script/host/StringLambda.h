#pragma once

#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace headrace::script {

/// A function of texts that a script gives as text: `x -> x.trim().toLowerCase()`,
/// `(x, y) -> x.equals(y) ? 1 : 0`. The language is the part of Java that SystemDS's `map` is used
/// with: operators, the conditional, methods of String, and a few functions by name. Nothing else
/// can be reached from it.
class StringLambda {
public:
  /// Throws Error, with the text, for what is not of this language.
  explicit StringLambda(const std::string &text);

  size_t parameters() const { return names.size(); }

  using Texts = std::vector<std::string>;
  using Item = std::variant<std::string, int64_t, double, bool, Texts>;
  using Term = std::function<Item(std::span<const Item>)>;

  Item operator()(std::span<const Item> arguments) const { return body(arguments); }

private:
  std::vector<std::string> names;
  Term body;
};

} // namespace headrace::script
