#include "script/graph/GraphWriter.h"

#include <algorithm>
#include <cmath>

namespace headrace::script {

void GraphWriter::fail(const std::string &message, ErrorKind kind) const {
  headrace::script::fail(place, message, kind);
}

std::string GraphWriter::sizesText(const Known &known) const {
  auto text = [&](const Size &size) {
    return size.known() && options.symbols ? std::to_string(size.evaluate(*options.symbols))
                                           : size.text();
  };
  return text(known.rows) + " x " + text(known.cols);
}

std::string GraphWriter::key(const Node &node) const {
  std::string text;
  auto put = [&](auto value) { text.append(reinterpret_cast<const char *>(&value), sizeof value); };
  put(node.op);
  put(node.cell);
  put(node.aggregate);
  put(node.extent);
  put(node.transposeLeft);
  put(node.transposeRight);
  put(node.columns);
  for (int input : node.inputs)
    put(input);
  text += node.name + '\0';
  for (const std::string &name : node.argumentNames)
    text += name + '\0';
  put(node.literal.index());
  std::visit(
      [&](const auto &value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
          text += value;
        else
          put(value);
      },
      node.literal);
  if (node.op == Op::SizeValue)
    text += node.known.value.text();
  return text;
}

int GraphWriter::add(Node node) {
  node.place = place;
  if (!node.ordered) {
    auto [entry, isNew] = known.emplace(key(node), static_cast<int>(dag.nodes.size()));
    if (!isNew)
      return entry->second;
  }
  dag.nodes.push_back(std::move(node));
  return static_cast<int>(dag.nodes.size()) - 1;
}

int GraphWriter::literal(LiteralValue value) {
  Node node{Op::Literal};
  static constexpr ValueType types[] = {ValueType::Integer, ValueType::Double, ValueType::Boolean,
                                        ValueType::String};
  node.known.type = Type::scalar(types[value.index()]);
  if (auto *whole = std::get_if<int64_t>(&value))
    node.known.value = *whole;
  else if (auto *real = std::get_if<double>(&value);
           real && *real == std::floor(*real) && std::fabs(*real) < 1e15)
    node.known.value = static_cast<int64_t>(*real);
  node.literal = std::move(value);
  return add(std::move(node));
}

int GraphWriter::sizeValue(const Size &size) {
  if (auto constant = size.constant())
    return literal(*constant);
  Node node{Op::SizeValue};
  node.known.type = Type::scalar(ValueType::Integer);
  node.known.value = size;
  return add(std::move(node));
}

bool GraphWriter::fits(const Size &a, const Size &b, bool &irregular) const {
  if (!a.known() || !b.known() || sameSize(a, b))
    return true;
  if (!options.symbols)
    return !a.constant() || !b.constant();
  irregular = true;
  return a.evaluate(*options.symbols) == b.evaluate(*options.symbols);
}

void GraphWriter::expectMatrix(int x, const char *what) {
  const Known &known = at(x).known;
  if (inRun() && !known.type.isMatrix() && known.type.data != DataType::Unknown)
    fail(std::string(what) + " expects a matrix, got " + toText(known.type),
         ErrorKind::TypeMismatch);
}

// --- Products, movement, aggregates ------------------------------------------------------------

int GraphWriter::transpose(int x) {
  expectMatrix(x, "t");
  if (at(x).op == Op::Transpose)
    return at(x).inputs[0];
  Node node{Op::Transpose, {x}};
  node.known = at(x).known;
  std::swap(node.known.rows, node.known.cols);
  return add(std::move(node));
}

int GraphWriter::matmul(int left, int right) {
  expectMatrix(left, "%*%");
  expectMatrix(right, "%*%");
  Node node{Op::MatMul};
  const Known &a = at(left).known, &b = at(right).known;
  if (!fits(a.cols, b.rows, node.irregular))
    fail("'%*%' of matrices of " + sizesText(a) + " and " + sizesText(b) + ": expected " +
         std::string("as many columns on the left as rows on the right"));
  if (int other = negatedProduct(left, right); other >= 0)
    return other;
  if (int other = reassociatedProduct(left, right); other >= 0)
    return other;
  node.known.type = Type::matrix();
  node.known.rows = a.rows;
  node.known.cols = b.cols;
  if (a.density && b.density) {
    double shared = a.cols.known() && options.symbols ? a.cols.evaluate(*options.symbols)
                                                      : a.cols.constant().value_or(1);
    node.known.density = 1 - std::pow(1 - *a.density * *b.density, shared);
  }
  node.transposeLeft = at(left).op == Op::Transpose;
  node.transposeRight = at(right).op == Op::Transpose;
  node.inputs = {node.transposeLeft ? at(left).inputs[0] : left,
                 node.transposeRight ? at(right).inputs[0] : right};
  return add(std::move(node));
}

int GraphWriter::aggregate(AggregateKind kind, Extent extent, int x) {
  Node node{Op::Aggregate, {x}};
  node.aggregate = kind;
  node.extent = extent;
  expectMatrix(x, operationName(node).c_str());
  if (int other = aggregateOfTranspose(kind, extent, x); other >= 0)
    return other;
  if (kind == AggregateKind::Sum)
    if (int other = sumOfProduct(x, extent); other >= 0)
      return other;
  if (kind == AggregateKind::Sum && extent == Extent::All)
    if (int other = sumWithProduct(x); other >= 0)
      return other;
  if (extent == Extent::All) {
    node.known.type = Type::scalar(ValueType::Double);
  } else {
    const Known &operand = at(x).known;
    node.known.type = Type::matrix();
    node.known.rows = extent == Extent::EachRow ? operand.rows : Size(1);
    node.known.cols = extent == Extent::EachRow ? Size(1) : operand.cols;
    node.known.density = 1;
  }
  return add(std::move(node));
}

int GraphWriter::fill(int value, int rows, int cols) {
  Node node{Op::Fill, {value, rows, cols}};
  node.known.type = Type::matrix();
  node.known.rows = sizeOf(rows);
  node.known.cols = sizeOf(cols);
  node.known.density = at(value).op == Op::Literal && at(value).known.value.isConstant(0) ? 0 : 1;
  for (const Size &size : {node.known.rows, node.known.cols})
    if (inRun() && size.known() && size.evaluate(*options.symbols) < 0)
      fail("matrix of " + sizesText(node.known) + ": expected sizes of 0 or more");
  return add(std::move(node));
}

int GraphWriter::bind(bool columns, std::vector<int> parts, const std::string &name) {
  Node node{Op::Bind, std::move(parts)};
  node.columns = columns;
  node.name = name;
  node.known.type = Type::matrix();
  for (int &part : node.inputs) {
    if (at(part).isScalar() && !at(part).known.type.isString())
      part = toMatrix(part);
    expectMatrix(part, name.c_str());
    const Known &known = at(part).known;
    Size &along = columns ? node.known.cols : node.known.rows;
    Size &across = columns ? node.known.rows : node.known.cols;
    const Size &partAlong = columns ? known.cols : known.rows;
    const Size &partAcross = columns ? known.rows : known.cols;
    if (part == node.inputs.front() && &part == &node.inputs.front()) {
      along = partAlong;
      across = partAcross;
      node.known.density = known.density;
      continue;
    }
    if (!fits(across, partAcross, node.irregular))
      fail(name + " of matrices of " + sizesText(node.known) + " and " + sizesText(known) +
           ": expected equal " + (columns ? "rows" : "columns"));
    if (!across.known())
      across = partAcross;
    along = along + partAlong;
    node.known.density = std::nullopt;
  }
  return node.inputs.size() == 1 ? node.inputs[0] : add(std::move(node));
}

int GraphWriter::toScalar(int x) {
  const Known &known = at(x).known;
  if (known.type.isScalar())
    return x;
  // The type of a list's entry is known once the entry exists.
  if (known.type.data == DataType::List || (inRun() && known.type.data == DataType::Unknown))
    return function("as.scalar", {x}, {});
  Node node{Op::ToScalar, {x}};
  if (!fits(known.rows, Size(1), node.irregular) || !fits(known.cols, Size(1), node.irregular))
    fail("as.scalar expects a 1 x 1 matrix, got " + sizesText(known));
  node.known.type = Type::scalar(ValueType::Double);
  return add(std::move(node));
}

int GraphWriter::toMatrix(int x) {
  const Known &known = at(x).known;
  if (known.type.isMatrix())
    return x;
  if (known.type.isScalar() && !known.type.isString())
    return fill(x, literal(int64_t(1)), literal(int64_t(1)));
  Known matrix;
  matrix.type = Type::matrix();
  return function("as.matrix", {x}, matrix);
}

int GraphWriter::function(std::string name, std::vector<int> inputs, Known known, bool ordered,
                          std::vector<std::string> argumentNames) {
  if (inRun() && !options.executes(name))
    headrace::script::fail(place, "'" + name + "' is understood but not executed yet",
                           ErrorKind::Unsupported);
  Node node{Op::Function, std::move(inputs)};
  node.known = std::move(known);
  node.ordered = ordered;
  node.name = std::move(name);
  node.argumentNames = std::move(argumentNames);
  return add(std::move(node));
}

// --- Sizes -----------------------------------------------------------------------------------

Size GraphWriter::sizeOf(int node) {
  const Node &scalar = at(node);
  if (scalar.known.value.known() || !inRun())
    return scalar.known.value;
  if (scalar.known.type.isString() || scalar.known.type.isMatrix())
    fail("expected a size, got " + toText(scalar.known.type), ErrorKind::TypeMismatch);
  if (scalar.op == Op::Input)
    dag.wantedSizes.insert(scalar.name);
  else if (mayCut)
    throw Cut{};
  return {};
}

void GraphWriter::cutIfUnknown(int node) {
  const Known &known = at(node).known;
  bool unknown = known.type.data == DataType::Unknown || known.formatOpen ||
                 (known.type.isMatrix() && !known.sizesKnown());
  if (unknown && mayCut && inRun() && at(node).op != Op::Input)
    throw Cut{};
}

int GraphWriter::rowsOf(int x) {
  const Known &known = at(x).known;
  if (known.type.isMatrix() && known.rows.known())
    return sizeValue(known.rows);
  Known scalar;
  scalar.type = Type::scalar(ValueType::Integer);
  return function("nrow", {x}, scalar);
}

int GraphWriter::colsOf(int x) {
  const Known &known = at(x).known;
  if (known.type.isMatrix() && known.cols.known())
    return sizeValue(known.cols);
  Known scalar;
  scalar.type = Type::scalar(ValueType::Integer);
  return function("ncol", {x}, scalar);
}

} // namespace headrace::script
