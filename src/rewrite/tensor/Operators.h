// The operators of tensor terms: for each its signature, the shape of its result and its meaning.
#pragma once

#include "rewrite/rule/Language.h"
#include "rewrite/tensor/Array.h"
#include "rewrite/term/Vocabulary.h"

#include <map>

namespace headrace::rewrite {

/// An operator with attributes in the form its functions read: numbers, and names as text.
struct OperatorCall {
  std::vector<int64_t> numbers;        ///< the attributes that are numbers, in order
  std::vector<std::string_view> names; ///< those that are names
};
OperatorCall callOf(const Operator &op, const Vocabulary &vocabulary);

/// The shape of a result, or why there is none.
struct ShapeResult {
  std::optional<Shape> shape;
  std::string reason;

  ShapeResult(Shape shape) : shape(std::move(shape)) {}
  static ShapeResult none(std::string reason) {
    ShapeResult result{Shape()};
    result.shape.reset();
    result.reason = std::move(reason);
    return result;
  }
};

using ShapeRule = ShapeResult (*)(const OperatorCall &, std::span<const Shape>);
using Meaning = Array (*)(const OperatorCall &, std::span<const Array *const>, const Shape &result);

struct TensorOperator {
  std::string_view name;
  Language::OperatorSignature signature;
  ShapeRule shape = nullptr;
  Meaning meaning = nullptr; ///< null for `tensor` alone, whose values come from outside
};

/// Operators by name. Accelerators add theirs to those of tensors.
class OperatorSet {
public:
  void add(std::span<const TensorOperator> operators);
  const TensorOperator *find(std::string_view name) const;

  /// Rejects unknown names, wrong numbers of operands or attributes, and results beyond
  /// maxElements.
  ShapeResult shapeOf(const Operator &op, const Vocabulary &vocabulary,
                      std::span<const Shape> operands) const;

private:
  std::map<std::string_view, const TensorOperator *> byName;
};

/// tensor[name, sizes...]              an input
/// split[a, n] join[a] slide[a, n, s]  one axis as two; two as one; windows of n, s apart
/// pad[a, before, after]               zeros
/// slice[a, from, n] concat[a]         a part of an axis; two after each other
/// transpose[a, b] repeat[a, n]        exchanges two axes; a new axis a of n equal parts
std::span<const TensorOperator> movementOperators();

/// map[f] zip[f] reduce[f, a]          of scalars, by the function's name
/// mv(w, x) contract(a, b)             [..., m, k] with [..., k]; [..., m, k] with [..., n, k]
/// dense(w, x, b)                      mv and a bias
/// conv[s, t](x, w)                    [..., c, h, w] with [..., f, c, i, j], steps s and t
/// maxpool[n, s](x)                    windows of n x n, s apart, of the last two axes
std::span<const TensorOperator> computationOperators();

} // namespace headrace::rewrite
