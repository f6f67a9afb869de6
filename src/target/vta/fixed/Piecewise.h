// Piecewise functions of an integer: clips, comparisons and selections, interval by interval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

namespace headrace::vta {

/// Each interval begins where the one before ends, and the first at INT64_MIN.
template <class T> class Piecewise {
public:
  struct Piece {
    int64_t from;
    T value;
  };

  Piecewise() = default;
  explicit Piecewise(T everywhere) : pieces{{INT64_MIN, std::move(everywhere)}} {}
  /// `below` for integers less than `from`, `above` for the others.
  Piecewise(T below, int64_t from, T above) : pieces{{INT64_MIN, below}, {from, above}} {}

  const std::vector<Piece> &all() const { return pieces; }
  const T &at(int64_t integer) const {
    auto after = std::ranges::upper_bound(pieces, integer, {}, &Piece::from);
    return std::prev(after)->value;
  }

  template <class Function> auto map(Function function) const {
    using R = std::invoke_result_t<Function, const T &>;
    Piecewise<R> result;
    for (const Piece &piece : pieces)
      result.append(piece.from, function(piece.value));
    return result;
  }
  /// `function` applied to the values of two piecewise functions.
  template <class U, class Function> auto with(const Piecewise<U> &other, Function function) const {
    using R = std::invoke_result_t<Function, const T &, const U &>;
    std::vector<int64_t> borders;
    for (const Piece &piece : pieces)
      borders.push_back(piece.from);
    for (const auto &piece : other.all())
      borders.push_back(piece.from);
    std::ranges::sort(borders);
    Piecewise<R> result;
    for (int64_t from : borders)
      result.append(from, function(at(from), other.at(from)));
    return result;
  }

  /// Leaves out equal neighbours.
  void append(int64_t from, T value) {
    if (!pieces.empty() && pieces.back().value == value)
      return;
    if (!pieces.empty() && pieces.back().from == from)
      pieces.pop_back();
    pieces.push_back({from, std::move(value)});
  }

private:
  std::vector<Piece> pieces;
};

} // namespace headrace::vta
