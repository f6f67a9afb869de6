// How the built-in functions that are more than one operation, or whose sizes follow from their
// arguments, are written.
#include "script/graph/CallBuilder.h"
#include "script/language/Printer.h"
#include <algorithm>

namespace headrace::script {

static Known scalarOf(ValueType type) {
  Known known;
  known.type = Type::scalar(type);
  return known;
}

static Known listType() {
  Known known;
  known.type = {DataType::List, ValueType::Unknown};
  return known;
}

int CallBuilder::matrix() {
  int data = argument("data"), rows = argument("rows"), cols = argument("cols");
  if (given("dims") || given("dimnames"))
    write.fail("matrix: 'dims' is understood but not executed yet", ErrorKind::Unsupported);
  const Known &known = write.at(data).known;
  if (known.type.isScalar() && !known.type.isString()) {
    if (rows < 0 || cols < 0)
      write.fail("matrix of one value expects rows and cols", ErrorKind::InvalidArgument);
    return write.fill(data, rows, cols);
  }
  Size rowCount = rows < 0 ? Size() : write.sizeOf(rows);
  Size colCount = cols < 0 ? Size() : write.sizeOf(cols);
  if (known.type.isMatrix() && known.cols.isConstant(1)) {
    if (rows < 0 && colCount.isConstant(1))
      rowCount = known.rows;
    if (cols < 0 && rowCount.isConstant(1))
      colCount = known.rows;
  }
  return function(matrixOf(rowCount, colCount));
}

int CallBuilder::rand() {
  int rows = argument("rows"), cols = argument("cols");
  if (given("dims"))
    write.fail("rand: 'dims' is understood but not executed yet", ErrorKind::Unsupported);
  Size one(1);
  Known known = matrixOf(rows < 0 ? one : write.sizeOf(rows), cols < 0 ? one : write.sizeOf(cols));
  int sparsity = argument("sparsity");
  if (sparsity < 0) {
    known.density = 1;
  } else if (auto *share = std::get_if<double>(&write.at(sparsity).literal);
             share && write.at(sparsity).op == Op::Literal) {
    known.density = *share;
  }
  known.formatOpen = sparsity >= 0;
  return function(known, /*ordered=*/true);
}

int CallBuilder::seq() {
  int from = argument("from"), to = argument("to"), step = argument("incr");
  Size first = write.sizeOf(from), last = write.sizeOf(to), rows;
  Size stride = step < 0 ? Size(1) : write.at(step).known.value;
  if (stride.isConstant(1)) {
    rows = last - first + 1;
    // Down by ones if the end is below the start.
    bool down = step < 0 && rows.constant() && *rows.constant() < 1;
    if (down)
      rows = first - last + 1;
  } else if (auto a = first.constant(), b = last.constant(), c = stride.constant();
             a && b && c && *c != 0) {
    rows = std::max<int64_t>(0, (*b - *a) / *c + 1);
  }
  Known known = matrixOf(rows, 1);
  known.density = 1;
  return function(known);
}

/// Binds the matrices of a list that is the only argument. Otherwise cbind, which is also append,
/// adds entries to the list, and rbind takes its matrices and the others.
int CallBuilder::bindLists() {
  bool columns = call->builtin->canonical == "cbind";
  if (columns && all.size() > 1)
    return function(listType(), /*ordered=*/false, "listAppend");
  Known matrix = matrixOf({}, {});
  matrix.formatOpen = true;
  return function(matrix, /*ordered=*/false, call->builtin->name.c_str());
}

int CallBuilder::bindRows() {
  bool lists = std::ranges::any_of(
      all, [&](int part) { return write.at(part).known.type.data == DataType::List; });
  return lists ? bindLists() : write.bind(false, all, call->builtin->name);
}

/// Strings next to one another are lines.
int CallBuilder::bindColumns() {
  if (write.at(all[0]).known.type.data == DataType::List)
    return bindLists();
  if (!write.at(all[0]).known.type.isString())
    return write.bind(true, all, call->builtin->name);
  int text = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    if (!write.at(all[i]).known.type.isString())
      write.fail(call->builtin->name + " of a string expects strings, got " +
                     toText(write.at(all[i]).known.type),
                 ErrorKind::TypeMismatch);
    for (int part : {write.literal(std::string("\n")), all[i]})
      text = write.function("concatenate", {text, part}, scalarOf(ValueType::String));
  }
  return text;
}

int CallBuilder::rows() {
  return write.at(all[0]).known.type.data == DataType::List
             ? write.rowsOf(all[0])
             : (write.expectMatrix(all[0], "nrow"), write.rowsOf(all[0]));
}

int CallBuilder::cols() {
  write.expectMatrix(all[0], "ncol");
  return write.colsOf(all[0]);
}

int CallBuilder::length() {
  const Known &known = write.at(all[0]).known;
  if (known.type.isScalar() && !known.type.isString())
    return write.literal(int64_t(1));
  Size cells = known.rows * known.cols;
  if (known.type.isMatrix() && cells.known())
    return write.sizeValue(cells);
  return function(scalarOf(ValueType::Integer));
}

int CallBuilder::log() {
  if (given("base"))
    return write.cell(CellFunction::LogBase, {argument("x"), argument("base")});
  return write.cell(CellFunction::Log, {all[0]});
}

int CallBuilder::extreme(CellFunction cell, AggregateKind aggregate) {
  if (all.size() == 1)
    return write.aggregate(aggregate, Extent::All, all[0]);
  // Several arguments: cell by cell.
  int result = all[0];
  std::vector<int> others(all.begin() + 1, all.end());
  for (int other : others)
    result = write.cell(cell, {result, other});
  return result;
}

int CallBuilder::mean() {
  if (given("weights"))
    return function(scalarOf(ValueType::Double));
  return write.aggregate(AggregateKind::Mean, Extent::All, all[0]);
}

/// sum((x - mean)^2) / (n - 1), in two passes: one would lose digits. Of a single value it is 0,
/// of none NaN.
int CallBuilder::spread(Extent extent, bool root) {
  using enum CellFunction;
  int x = all[0];
  write.expectMatrix(x, call->builtin->name.c_str());
  int center = write.cell(Subtract, {x, write.aggregate(AggregateKind::Mean, extent, x)});
  int squares = write.cell(Power, {center, write.literal(int64_t(2))});
  int sum = write.aggregate(AggregateKind::Sum, extent, squares);
  int count = extent == Extent::EachRow ? write.colsOf(x)
              : extent == Extent::EachColumn
                  ? write.rowsOf(x)
                  : write.cell(Multiply, {write.rowsOf(x), write.colsOf(x)});
  // Of 0 and 1 cells, the number itself; sizes that are symbols are neither.
  Size known = write.at(count).known.value;
  int one = write.literal(int64_t(1));
  bool few = known.isConstant(0) || known.isConstant(1);
  int divisor = few ? count : write.cell(Subtract, {count, one});
  if (!known.known())
    divisor = write.cell(Max, {divisor, write.cell(Min, {count, one})});
  int result = write.cell(Divide, {sum, divisor});
  return root ? write.cell(Sqrt, {result}) : result;
}

int CallBuilder::variances() {
  std::string_view name = call->builtin->canonical;
  return spread(name.starts_with("row") ? Extent::EachRow : Extent::EachColumn,
                name.ends_with("Sds"));
}

int CallBuilder::trace() {
  write.expectMatrix(all[0], "trace");
  if (int sum = write.traceOfProduct(all[0]); sum >= 0)
    return sum;
  const Known &known = write.at(all[0]).known;
  int diagonal = write.function("diag", all, matrixOf(known.rows, 1));
  return write.aggregate(AggregateKind::Sum, Extent::All, diagonal);
}

int CallBuilder::castScalar() {
  const Known &known = write.at(all[0]).known;
  Known result;
  result.type = resultType(*call->builtin, {});
  if (known.type == result.type)
    return all[0];
  if (result.type.value == ValueType::Integer && known.value.known())
    return write.sizeValue(known.value);
  result.value = known.value;
  return function(result);
}

int CallBuilder::ifelse() {
  bool strings = write.at(all[1]).known.type.isString() || write.at(all[2]).known.type.isString();
  if (strings)
    return function(scalarOf(ValueType::String));
  return write.cell(CellFunction::IfElse, all);
}

int CallBuilder::likeFirst() {
  write.expectMatrix(all[0], call->builtin->name.c_str());
  const Known &known = write.at(all[0]).known;
  Known result = matrixOf(known.rows, known.cols);
  std::string_view name = call->builtin->canonical;
  result.formatOpen = name == "replace" || name == "roll" || name.ends_with(".tri");
  return function(result);
}

int CallBuilder::outer() {
  const Known &a = write.at(argument("a")).known, &b = write.at(argument("b")).known;
  return function(
      matrixOf(a.rows.isConstant(1) ? b.rows : a.rows, b.cols.isConstant(1) ? a.cols : b.cols));
}

/// A column becomes the diagonal of a matrix; a matrix gives its diagonal.
int CallBuilder::diag() {
  write.expectMatrix(all[0], "diag");
  const Known &known = write.at(all[0]).known;
  if (!known.sizesKnown())
    return function(matrixOf({}, {}));
  bool column = known.cols.isConstant(1);
  Known result = column ? matrixOf(known.rows, known.rows) : matrixOf(known.rows, 1);
  result.formatOpen = column;
  return function(result);
}

int CallBuilder::solve() {
  return function(matrixOf(write.at(argument("a")).known.cols, write.at(argument("b")).known.cols));
}

std::vector<Known> CallBuilder::eigen() {
  write.expectMatrix(all[0], "eigen");
  Size n = write.at(all[0]).known.rows;
  return {matrixOf(n, 1), matrixOf(n, n)};
}

std::vector<Known> CallBuilder::lu() {
  write.expectMatrix(all[0], "lu");
  Size n = write.at(all[0]).known.rows;
  return {matrixOf(n, n), matrixOf(n, n), matrixOf(n, n)};
}

std::vector<Known> CallBuilder::qr() {
  write.expectMatrix(all[0], "qr");
  const Known &a = write.at(all[0]).known;
  return {matrixOf(a.rows, a.cols), matrixOf(a.rows, a.cols)};
}

std::vector<Known> CallBuilder::svd() {
  write.expectMatrix(all[0], "svd");
  const Known &a = write.at(all[0]).known;
  auto rows = a.rows.constant(), cols = a.cols.constant();
  Size values; // the smaller one
  if (rows && cols)
    values = std::min(*rows, *cols);
  else if (sameSize(a.rows, a.cols))
    values = a.rows;
  return {matrixOf(a.rows, values), matrixOf(values, values), matrixOf(a.cols, values)};
}

/// [list without the entry, list of the entry]
std::vector<Known> CallBuilder::remove() { return {listType(), listType()}; }

/// Sizes and formats are known once they are computed.
std::vector<Known> CallBuilder::matrices() {
  Known matrix = matrixOf({}, {});
  matrix.formatOpen = true;
  return std::vector<Known>(call->builtin->results, matrix);
}

/// [matrix, frame]
std::vector<Known> CallBuilder::encoded() {
  std::vector<Known> known = matrices();
  known[1] = {};
  known[1].type = {DataType::Frame, ValueType::Unknown};
  return known;
}

int CallBuilder::oneColumn() {
  write.expectMatrix(all[0], call->builtin->name.c_str());
  return function(matrixOf(write.at(all[0]).known.rows, 1));
}

/// Matrices unless the call says otherwise; sizes if the call gives them.
int CallBuilder::read() {
  int type = argument("data_type");
  if (type >= 0) {
    auto *text = std::get_if<std::string>(&write.at(type).literal);
    Known frame;
    frame.type = {DataType::Frame, ValueType::Unknown};
    if (text && *text == "scalar")
      return function({}, /*ordered=*/true);
    if (text && *text == "frame")
      return function(frame, /*ordered=*/true);
  }
  return function(matrixOf({}, {}), /*ordered=*/true);
}

/// ppred(a, b, "op")
int CallBuilder::compare() {
  using enum CellFunction;
  auto *text = std::get_if<std::string>(&write.at(argument("op")).literal);
  for (CellFunction function : {Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, And, Or})
    if (text && describe(function).name == *text)
      return write.cell(function, {argument("a"), argument("b")});
  write.fail("ppred expects one of < <= > >= == != & | as its operator",
             ErrorKind::InvalidArgument);
}

} // namespace headrace::script
