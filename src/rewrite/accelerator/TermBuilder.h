// Writes terms of tensors whose shapes are known as they are written. Dimensions are counted from
// the first here, as programs do; the axes of terms are counted from the last.
#pragma once

#include "rewrite/tensor/Operators.h"
#include "rewrite/term/Terms.h"

namespace headrace::rewrite {

/// A term with its shape.
struct ShapedTerm {
  TermId id = 0;
  Shape shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

class TermBuilder {
public:
  explicit TermBuilder(Terms &terms) : terms(terms) {}

  ShapedTerm input(std::string_view name, const Shape &shape);

  /// Any operator: attributes that are numbers, then its operands. Throws Error if they do not
  /// fit.
  ShapedTerm apply(std::string_view op, std::vector<int64_t> numbers,
                   const std::vector<ShapedTerm> &operands);
  /// map and zip by the name of a function.
  ShapedTerm function(std::string_view name, const std::vector<ShapedTerm> &operands);
  ShapedTerm reduce(std::string_view function, int64_t axis, const ShapedTerm &x);

  /// Dimension i of the result is dimension order[i] of x.
  ShapedTerm permuted(ShapedTerm x, std::vector<int64_t> order);
  /// The elements of x under another shape. Unless the shapes are equal, both must have at least
  /// one element and one dimension.
  ShapedTerm reshaped(ShapedTerm x, const Shape &shape);
  /// x as NumPy broadcasts it.
  ShapedTerm broadcast(const ShapedTerm &x, const Shape &shape) {
    return broadcast(x, x.shape, shape);
  }
  /// Broadcasts a tensor of shape `from` whose elements x has; x may lack dimensions of 1.
  ShapedTerm broadcast(ShapedTerm x, Shape from, const Shape &shape);

private:
  Terms &terms;
};

} // namespace headrace::rewrite
