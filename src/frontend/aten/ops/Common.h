// Functions that several families of operators share.
#pragma once

#include "frontend/aten/Call.h"

namespace headrace::aten {

/// A tensor without dimensions is its own reduction.
Node reduced(Call &c, const std::string &kind, Node x, const Integers &axes, bool keep);

/// The square root of something that is not negative; PyTorch takes it to be flat at 0.
Node root(Call &c, Node x);

struct Moments {
  Node variance, mean;
};
/// With the dimensions kept.
Moments moments(Call &c, Node x, const Integers &axes, const Value &correction);

/// An index as a position: a negative one counts from the end.
Size position(Call &c, const Size &index, const Size &size);
/// Where the slice that the call's "start", "end" and "step" describe begins, if it has `count`
/// elements.
Size sliceStart(Call &c, Node x, int64_t axis, const Size &count);

Node normAlong(Call &c, Node x, double order, const Integers &axes, bool keep);

/// An index that is checked when the program runs; a negative one counts from the end.
Node wrapped(Call &c, Node index, const Size &size);
/// Positions in a tensor of these sizes, seen as a vector, for an index along one dimension.
Node along(Call &c, Node index, int64_t axis, const Sizes &sizes);
/// The elements at positions along a dimension.
Node takenAt(Call &c, Node x, Node positions, int64_t axis);
/// Rows [outer, T, inner] put into data [outer, size, inner]; `kind` as in GraphBuilder::scatter.
Node scatterRows(Call &c, Node rows, Node indices, Node data, const std::string &kind);
/// Single elements put into a tensor, by positions in it as a vector.
Node put(Call &c, Node updates, Node positions, Node x, const std::string &kind = "");

/// The position of the first extremum along a dimension, which is kept with size 1; NaN is the
/// extremum.
Node extremumPosition(Call &c, Node x, const std::string &kind, int64_t axis);

/// Along a dimension, result i is the sum over k of element places[i, k] times weights[i, k].
struct Taps {
  int64_t results, count;
  Integers places;
  std::vector<double> weights;
};
Node blended(Call &c, Node x, int64_t axis, const Taps &taps);

} // namespace headrace::aten
