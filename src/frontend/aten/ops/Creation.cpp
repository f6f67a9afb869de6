// Tensors made from nothing.
#include "frontend/aten/Table.h"

#include <cmath>

namespace headrace::aten {

static Write filledWith(double value) {
  return [value](Call &c) -> Value { return c.full(value, c.type(), c.shape()); };
}

static Write filledBy(const std::string &argument) {
  return [argument](Call &c) -> Value { return c.full(c[argument], c.type(), c.shape()); };
}

static Value fill(Call &c) { return c.b.broadcast(c.typed(c["value"], c.type()), c.shape()); }

/// start + i * step, for as many as the result has.
static Value range(Call &c) {
  Value start = c["start"], step = c["step"];
  if (start.isNone())
    start = 0;
  if (step.isNone())
    step = 1;
  auto count = known(c.shape().at(0));
  auto first = numberIn(start), by = numberIn(step);
  if (!count || !first || !by) {
    Node places = c.b.cast(c.iota(c.shape().at(0)), c.type());
    return c.map("add", {c.map("mul", {places, step}), start});
  }
  if (!isFloat(c.type())) {
    Integers values(c.listed({*count}));
    for (int64_t i = 0; i < *count; ++i)
      values[i] = static_cast<int64_t>(*first) + i * static_cast<int64_t>(*by);
    return c.b.cast(c.integers(values, {*count}), c.type());
  }
  std::vector<double> values(c.listed({*count}));
  for (int64_t i = 0; i < *count; ++i)
    values[i] = *first + static_cast<double>(i) * *by;
  return c.numbers(values, {*count}, c.type());
}

/// From both ends, as PyTorch does.
static Value linearSpace(Call &c) {
  auto count = known(c.shape().at(0));
  auto start = numberIn(c["start"]), end = numberIn(c["end"]);
  if (!count || !start || !end)
    c.unsupported(c.name + " of values that are not known");
  double step = *count > 1 ? (*end - *start) / static_cast<double>(*count - 1) : 0;
  std::vector<double> values(c.listed({*count}));
  for (int64_t i = 0; i < *count; ++i)
    values[i] = i < *count / 2 || *count == 1 ? *start + step * static_cast<double>(i)
                                              : *end - step * static_cast<double>(*count - 1 - i);
  return c.numbers(values, {*count}, c.type());
}

static Node matrixOfFlags(Call &c, int64_t rows, int64_t columns, auto holds) {
  std::vector<bool> values;
  values.reserve(c.listed({rows, columns}));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values.push_back(holds(i, j));
  return c.flags(values, {rows, columns});
}

static Value eye(Call &c) {
  Integers sizes = c.fixed(c.shape(), "eye");
  c.require(sizes.size() == 2, "a matrix");
  return c.b.cast(matrixOfFlags(c, sizes[0], sizes[1], std::equal_to<int64_t>()), c.type());
}

static Write triangle(bool upper) {
  return [upper](Call &c) -> Value {
    Sizes shape = c.shape();
    c.require(shape.size() >= 2, "matrices");
    Integers sizes = c.fixed(shape.last(2), "a triangle");
    int64_t diagonal = c.integer("diagonal", 0);
    Node kept = matrixOfFlags(c, sizes[0], sizes[1], [&](int64_t i, int64_t j) {
      return upper ? j - i >= diagonal : j - i <= diagonal;
    });
    return c.select(kept, c.tensor("self"), 0, c.type());
  };
}

static Write triangleIndices(bool upper) {
  return [upper](Call &c) -> Value {
    int64_t rows = c.integer("row"), columns = c.integer("col"), offset = c.integer("offset", 0);
    c.listed({rows, columns});
    Integers values, others;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        if (upper ? j - i >= offset : j - i <= offset)
          values.push_back(i), others.push_back(j);
    auto count = static_cast<int64_t>(values.size());
    values.insert(values.end(), others.begin(), others.end());
    return c.b.cast(c.integers(values, {2, count}), c.type());
  };
}

Operators creationOperators() {
  Operators table{
      {"scalar_tensor", filledBy("s")},
      {"full", filledBy("fill_value")},
      {"full_like", filledBy("fill_value")},
      {"new_full", filledBy("fill_value")},
      {"fill", fill},
      {"arange", range},
      {"linspace.default", linearSpace},
      {"eye", eye},
      {"triu", triangle(true)},
      {"tril", triangle(false)},
      {"triu_indices", triangleIndices(true)},
      {"tril_indices", triangleIndices(false)},
  };
  for (const char *name : {"ones", "ones_like", "new_ones"})
    table.push_back({name, filledWith(1)});
  // The values of an empty tensor are not determined.
  for (const char *name : {"zeros", "zeros_like", "new_zeros", "zero", "empty", "empty_like",
                           "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"})
    table.push_back({name, filledWith(0)});
  return table;
}

} // namespace headrace::aten
