#include "script/language/Polynomial.h"

#include <algorithm>

namespace headrace::script {

Polynomial::Polynomial(double number) { add({}, number); }

Polynomial Polynomial::named(const std::string &name) {
  Polynomial result;
  result.add({name}, 1);
  return result;
}

void Polynomial::add(const Names &names, double factor) {
  double &entry = terms[names];
  entry += factor;
  if (entry == 0)
    terms.erase(names);
}

Polynomial operator+(const Polynomial &a, const Polynomial &b) {
  Polynomial result = a;
  for (const auto &[names, factor] : b.terms)
    result.add(names, factor);
  return result;
}

Polynomial operator-(const Polynomial &a, const Polynomial &b) { return a + Polynomial(-1) * b; }

Polynomial operator*(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, factor] : a.terms)
    for (const auto &[right, other] : b.terms) {
      Polynomial::Names names;
      std::ranges::merge(left, right, std::back_inserter(names));
      result.add(names, factor * other);
    }
  return result;
}

std::optional<double> Polynomial::constant() const {
  if (terms.empty())
    return 0;
  bool isNumber = terms.size() == 1 && terms.begin()->first.empty();
  return isNumber ? std::optional(terms.begin()->second) : std::nullopt;
}

std::optional<Polynomial::Linear> Polynomial::linearIn(const std::string &name) const {
  Linear result;
  for (const auto &[names, factor] : terms) {
    auto count = std::ranges::count(names, name);
    if (count > 1)
      return std::nullopt;
    Names others = names;
    std::erase(others, name);
    (count == 0 ? result.rest : result.slope).add(others, factor);
  }
  return result;
}

} // namespace headrace::script
