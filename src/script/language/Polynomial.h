#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::script {

/// A polynomial with names as its variables: what a subscript or a bound of a loop is, as far as it
/// is sums and products of numbers and of values that are known by name alone.
class Polynomial {
public:
  /// 0.
  Polynomial() = default;
  explicit Polynomial(double number);
  static Polynomial named(const std::string &name);

  friend Polynomial operator+(const Polynomial &a, const Polynomial &b);
  friend Polynomial operator-(const Polynomial &a, const Polynomial &b);
  friend Polynomial operator*(const Polynomial &a, const Polynomial &b);
  bool operator==(const Polynomial &) const = default;

  /// The number that it is, if no names are left in it.
  std::optional<double> constant() const;

  /// `rest + slope * name`; nothing if the name is in a product with itself.
  struct Linear;
  std::optional<Linear> linearIn(const std::string &name) const;

private:
  using Names = std::vector<std::string>; // sorted; one stands as often as it is a factor
  void add(const Names &names, double factor);

  std::map<Names, double> terms; // no factor is 0
};

struct Polynomial::Linear {
  Polynomial rest, slope;
};

} // namespace headrace::script
