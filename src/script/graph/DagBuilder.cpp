#include "script/graph/DagBuilder.h"

#include "script/graph/CallBuilder.h"
#include "script/language/Operators.h"
#include <utility>

namespace headrace::script {

namespace {

Known frameType() {
  Known known;
  known.type = {DataType::Frame, ValueType::Unknown};
  return known;
}

class Builder {
public:
  Builder(Dag &dag, const DagOptions &options)
      : dag(dag), options(options), write(dag, options),
        calls(write, [this](const Expr &expr) { return build(expr); }) {}

  /// False if the statement is left for the next graph.
  bool add(const Statement &statement, bool first) {
    size_t before = dag.nodes.size();
    write.mayCut = !first;
    try {
      assign(*statement.as<Assign>());
    } catch (const GraphWriter::Cut &) {
      dag.nodes.erase(dag.nodes.begin() + static_cast<ptrdiff_t>(before), dag.nodes.end());
      return false;
    }
    ++dag.statements;
    return true;
  }

private:
  int build(const Expr &expr);
  int variable(const std::string &name, SourceLocation place);
  int binary(const Binary &expr);
  int index(const Index &expr);
  int list(const Tuple &expr, SourceLocation place);
  std::vector<int> ranges(const IndexRanges &ranges);
  Size extent(int first, int last, const Size &all);
  void assign(const Assign &statement);
  int assignPart(const Target &target, int value);

  Dag &dag;
  const DagOptions &options;
  GraphWriter write;
  CallBuilder calls;
};

int Builder::variable(const std::string &name, SourceLocation place) {
  if (auto found = dag.assigned.find(name); found != dag.assigned.end()) {
    write.cutIfUnknown(found->second);
    return found->second;
  }
  const Known *known = options.variable(name);
  if (!known && write.inRun())
    fail(place, "variable '" + name + "' has no value here");
  Node node{Op::Input};
  node.name = name;
  if (known)
    node.known = *known;
  return write.add(std::move(node));
}

int Builder::binary(const Binary &expr) {
  SourceLocation place = write.place;
  int left = build(*expr.left), right = build(*expr.right);
  write.place = place;
  if (expr.op == BinaryOp::MatrixMultiply)
    return write.matmul(left, right);
  bool frames = write.at(left).known.type.data == DataType::Frame ||
                write.at(right).known.type.data == DataType::Frame;
  if (frames && expr.op >= BinaryOp::Less && expr.op <= BinaryOp::NotEqual)
    return write.function("frame.compare",
                          {left, right, write.literal(std::string(describe(expr.op).symbol))},
                          frameType());
  bool text = write.at(left).known.type.isString() || write.at(right).known.type.isString();
  if (expr.op == BinaryOp::Add && text) {
    Known known;
    known.type = Type::scalar(ValueType::String);
    return write.function("concatenate", {left, right}, known);
  }
  return write.cell(describe(expr.op).cell, {left, right});
}

int Builder::build(const Expr &expr) {
  write.place = expr.place;
  if (auto *literal = expr.as<Literal>())
    return write.literal(literal->value);
  if (auto *name = expr.as<Variable>())
    return variable(name->name, expr.place);
  if (auto *unary = expr.as<Unary>()) {
    int operand = build(*unary->operand);
    write.place = expr.place;
    if (unary->op == UnaryOp::Plus)
      return operand;
    auto negative = [&](auto value) { return write.literal(-value); };
    if (write.at(operand).op == Op::Literal && unary->op == UnaryOp::Minus) {
      const LiteralValue &literal = write.at(operand).literal;
      if (auto *whole = std::get_if<int64_t>(&literal))
        return negative(*whole);
      if (auto *real = std::get_if<double>(&literal))
        return negative(*real);
    }
    return write.cell(unary->op == UnaryOp::Minus ? CellFunction::Negate : CellFunction::Not,
                      {operand});
  }
  if (auto *operation = expr.as<Binary>())
    return binary(*operation);
  if (auto *call = expr.as<Call>())
    return calls.build(*call, expr.place);
  if (auto *part = expr.as<Index>())
    return index(*part);
  if (auto *tuple = expr.as<Tuple>())
    return list(*tuple, expr.place);
  throw InternalError("an expression that analysis should have resolved");
}

/// The positions as operands: first and last row, first and last column; -1 for all.
std::vector<int> Builder::ranges(const IndexRanges &ranges) {
  std::vector<int> result;
  for (const IndexRange *range : {&ranges.rows, &ranges.columns}) {
    if (range->all()) {
      result.insert(result.end(), {-1, -1});
      continue;
    }
    int first = build(*range->first);
    result.insert(result.end(), {first, range->last ? build(*range->last) : first});
  }
  return result;
}

/// How many rows or columns an index picks.
Size Builder::extent(int first, int last, const Size &all) {
  if (first < 0)
    return all;
  if (first == last)
    return 1;
  Size begin = write.sizeOf(first);
  return write.sizeOf(last) - begin + 1;
}

int Builder::index(const Index &expr) {
  SourceLocation place = write.place;
  int whole = variable(expr.name, place);
  std::vector<int> inputs{whole};
  for (int position : ranges(expr.ranges))
    inputs.push_back(position);
  write.place = place;
  const Known &known = write.at(whole).known;
  if (known.type.data == DataType::List) {
    inputs.resize(3);
    Known part;
    part.type = known.type;
    return write.function("listIndex", inputs, part);
  }
  if (known.type.data == DataType::Frame)
    return write.function("frame.index", inputs, frameType());
  write.expectMatrix(whole, "an index");
  Known part;
  part.type = Type::matrix();
  part.rows = extent(inputs[1], inputs[2], known.rows);
  part.cols = extent(inputs[3], inputs[4], known.cols);
  part.formatOpen = known.sparse;
  part.density = known.density;
  return write.function("index", inputs, part);
}

/// `["a", "b"]`
int Builder::list(const Tuple &expr, SourceLocation place) {
  std::vector<int> elements;
  for (const ExprPtr &element : expr.elements)
    elements.push_back(build(*element));
  write.place = place;
  Known known;
  known.type = {DataType::List, ValueType::Unknown};
  size_t count = elements.size();
  return write.function("list", std::move(elements), known, /*ordered=*/false,
                        std::vector<std::string>(count));
}

int Builder::assignPart(const Target &target, int value) {
  int whole = variable(target.name, target.place);
  std::vector<int> inputs{whole, value};
  for (int position : ranges(*target.ranges))
    inputs.push_back(position);
  write.place = target.place;
  Known known = write.at(whole).known;
  if (known.type.data == DataType::List) {
    inputs.resize(4);
    return write.function("listAssign", inputs, known);
  }
  if (known.type.data == DataType::Frame)
    return write.function("frame.assignIndex", inputs, frameType());
  write.expectMatrix(whole, "an index on the left");
  known.density = std::nullopt;
  known.formatOpen = std::exchange(known.sparse, false);
  return write.function("assignIndex", inputs, known);
}

void Builder::assign(const Assign &statement) {
  if (statement.targets.size() > 1) {
    // Targets of several results are plain variables: analysis sees to that.
    std::vector<int> values =
        calls.build(*statement.value->as<Call>(), statement.value->place, statement.targets.size());
    for (size_t i = 0; i < values.size(); ++i)
      dag.assigned[statement.targets[i].name] = values[i];
    return;
  }
  int value = build(*statement.value);
  if (statement.targets.empty())
    return;
  const Target &target = statement.targets.front();
  if (target.ranges)
    value = assignPart(target, value);
  dag.assigned[target.name] = value;
}

} // namespace

static bool readsClock(const Expr &expr) {
  auto *call = expr.as<Call>();
  bool reads = call && call->builtin->canonical == "time";
  forEachOperand(expr, [&](const Expr &operand) { reads = reads || readsClock(operand); });
  return reads;
}

/// In a run, a statement that reads the clock is a graph of its own: what is before it is
/// computed before it, and what is behind it afterwards.
static bool standsAlone(const Statement &statement, const DagOptions &options) {
  return options.symbols && readsClock(*statement.as<Assign>()->value);
}

Dag buildDag(const StatementList &statements, size_t first, const DagOptions &options) {
  Dag dag;
  Builder builder(dag, options);
  for (size_t i = first; i < statements.size() && i - first < options.maxStatements; ++i) {
    bool alone = standsAlone(*statements[i], options);
    if ((alone && i > first) || !builder.add(*statements[i], i == first) || alone)
      break;
  }
  return dag;
}

} // namespace headrace::script
