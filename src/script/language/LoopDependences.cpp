#include "script/language/LoopDependences.h"

#include "script/language/Printer.h"
#include "script/language/Subscripts.h"
#include <algorithm>
#include <utility>

namespace headrace::script {

namespace {

/// One place that reads or writes a variable, or cells of it.
struct Access {
  Access(SourceLocation place, std::string text) : place(place), text(std::move(text)) {}

  SourceLocation place;
  std::string text; ///< "R[i, ]"
  bool writes = false;
  bool adds = false;  ///< by `+=`
  bool whole = false; ///< not through an index
  SubscriptRange rows, columns;
};

/// Variables as far as values are known by name: those that an iteration has computed so far, or
/// nothing for what is not such a polynomial.
using Values = std::map<std::string, std::optional<Polynomial>>;

bool isSwitchedOff(const For &loop) {
  return std::ranges::any_of(loop.options, [](const Argument &option) {
    auto *literal = option.value->as<Literal>();
    if (option.name != "check" || !literal)
      return false;
    auto *whole = std::get_if<int64_t>(&literal->value);
    auto *truth = std::get_if<bool>(&literal->value);
    return (whole && *whole == 0) || (truth && !*truth);
  });
}

/// Lists the accesses of a loop's body to the variables that outlive an iteration.
class AccessCollector {
public:
  AccessCollector(const For &loop, const std::set<std::string> &defined)
      : loop(loop), defined(defined) {
    collectAssigned(loop.body, assigned);
    assigned.insert(loop.variable);
  }

  std::map<std::string, std::vector<Access>> run() {
    Values values;
    values[loop.variable] = Polynomial::named(loop.variable);
    list(loop.body, values);
    return std::move(accesses);
  }

  /// The iterations of a loop whose variable goes by this name.
  LoopRange rangeOf(const For &node, const std::string &name, const Values &values) const {
    LoopRange range{name, valueOf(*node.from, values), valueOf(*node.to, values), Polynomial(1)};
    if (node.step)
      range.step = valueOf(*node.step, values);
    auto number = [](const std::optional<Polynomial> &at) {
      return at ? at->constant() : std::nullopt;
    };
    if (auto from = number(range.from), to = number(range.to); !node.step && from > to && to)
      range.step = Polynomial(-1);
    return range;
  }

private:
  // --- Statements ------------------------------------------------------------------------------

  void list(const StatementList &statements, Values &values) {
    for (const StatementPtr &statement : statements)
      std::visit([&](const auto &node) { visit(statement->place, node, values); }, statement->node);
  }

  void visit(SourceLocation, const Assign &node, Values &values) {
    read(*node.value, values);
    for (const Target &target : node.targets)
      write(target, node.accumulate, values);
    if (node.targets.size() != 1 || node.targets[0].ranges)
      return;
    const std::string &name = node.targets[0].name;
    std::optional<Polynomial> value = valueOf(*node.value, values);
    if (node.accumulate && value) {
      auto old = values.find(name);
      value =
          old != values.end() && old->second ? std::optional(*old->second + *value) : std::nullopt;
    }
    values[name] = value;
  }

  void visit(SourceLocation, const If &node, Values &values) {
    read(*node.condition, values);
    for (const StatementList *branch : {&node.then, &node.otherwise}) {
      Values own = values;
      list(*branch, own);
    }
    forget(node.then, values);
    forget(node.otherwise, values);
  }

  void visit(SourceLocation, const While &node, Values &values) {
    forget(node.body, values);
    read(*node.condition, values);
    list(node.body, values);
    forget(node.body, values);
  }

  void visit(SourceLocation place, const For &node, Values &values) {
    for (const ExprPtr *bound : {&node.from, &node.to, &node.step})
      if (*bound)
        read(**bound, values);
    if (node.parallel && isSwitchedOff(node))
      return forget(node.body, values);
    // Of its own, for there may be another loop over the same variable.
    std::string name = node.variable + "@" + std::to_string(place.offset);
    LoopRange range = rangeOf(node, name, values);
    forget(node.body, values);
    values[node.variable] = Polynomial::named(name);
    inner.push_back(std::move(range));
    list(node.body, values);
    inner.pop_back();
    forget(node.body, values);
    values[node.variable] = std::nullopt;
  }

  void visit(SourceLocation, const Import &, Values &) {}
  void visit(SourceLocation, const SetFolder &, Values &) {}

  /// What the statements assign has no value that is known any more.
  static void forget(const StatementList &statements, Values &values) {
    std::set<std::string> names;
    collectAssigned(statements, names);
    for (const std::string &name : names)
      values[name] = std::nullopt;
  }

  // --- Accesses --------------------------------------------------------------------------------

  bool outlives(const std::string &name) const {
    return defined.contains(name) && assigned.contains(name) && name != loop.variable;
  }

  void note(const std::string &name, Access access) {
    if (outlives(name))
      accesses[name].push_back(std::move(access));
  }

  void write(const Target &target, bool adds, const Values &values) {
    Access access(target.place, target.name);
    access.whole = !target.ranges;
    access.writes = true;
    access.adds = adds;
    if (target.ranges) {
      forEachOperand(*target.ranges, [&](const Expr &part) { read(part, values); });
      takeRanges(access, target.name, *target.ranges, values);
    }
    note(target.name, std::move(access));
  }

  void read(const Expr &expr, const Values &values) {
    if (isSizeOf(expr))
      return;
    if (auto *variable = expr.as<Variable>()) {
      Access access(expr.place, variable->name);
      access.whole = true;
      note(variable->name, std::move(access));
    } else if (auto *index = expr.as<Index>()) {
      Access access(expr.place, index->name);
      takeRanges(access, index->name, index->ranges, values);
      note(index->name, std::move(access));
    }
    forEachOperand(expr, [&](const Expr &operand) { read(operand, values); });
  }

  void takeRanges(Access &access, const std::string &name, const IndexRanges &ranges,
                  const Values &values) const {
    access.text = print(*makeExpr(access.place, Index{name, clone(ranges)}));
    access.rows = subscript(ranges.rows, values);
    access.columns = subscript(ranges.columns, values);
  }

  SubscriptRange subscript(const IndexRange &range, const Values &values) const {
    if (range.all())
      return {};
    SubscriptRange result{valueOf(*range.first, values),
                          valueOf(range.last ? *range.last : *range.first, values)};
    for (size_t i = inner.size(); i-- > 0;)
      result = overIterations(result, inner[i]);
    return result;
  }

  // --- Values ----------------------------------------------------------------------------------

  /// nrow(X), ncol(X), length(X): parts of a matrix may be assigned without changing it.
  static bool isSizeOf(const Expr &expr) {
    auto *call = expr.as<Call>();
    return call && (call->name == "nrow" || call->name == "ncol" || call->name == "length") &&
           call->arguments.size() == 1 && call->arguments[0].value->as<Variable>();
  }

  /// Whether the expression has the same value in all iterations.
  bool isFixed(const Expr &expr) const {
    if (isSizeOf(expr)) {
      const std::string &name = expr.as<Call>()->arguments[0].value->as<Variable>()->name;
      return !assigned.contains(name) || defined.contains(name);
    }
    auto *variable = expr.as<Variable>();
    auto *index = expr.as<Index>();
    bool fixed = !(variable && assigned.contains(variable->name)) &&
                 !(index && assigned.contains(index->name));
    forEachOperand(expr, [&](const Expr &operand) { fixed = fixed && isFixed(operand); });
    return fixed;
  }

  std::optional<Polynomial> valueOf(const Expr &expr, const Values &values) const {
    if (auto *literal = expr.as<Literal>()) {
      if (auto *whole = std::get_if<int64_t>(&literal->value))
        return Polynomial(static_cast<double>(*whole));
      if (auto *real = std::get_if<double>(&literal->value))
        return Polynomial(*real);
    }
    if (auto *variable = expr.as<Variable>())
      if (auto known = values.find(variable->name); known != values.end())
        return known->second;
    if (auto *unary = expr.as<Unary>(); unary && unary->op != UnaryOp::Not) {
      auto operand = valueOf(*unary->operand, values);
      bool minus = operand && unary->op == UnaryOp::Minus;
      return minus ? std::optional(Polynomial() - *operand) : operand;
    }
    if (auto *binary = expr.as<Binary>())
      if (auto result = arithmetic(*binary, values))
        return result;
    if (isFixed(expr))
      return Polynomial::named(print(expr));
    return std::nullopt;
  }

  std::optional<Polynomial> arithmetic(const Binary &binary, const Values &values) const {
    auto left = valueOf(*binary.left, values), right = valueOf(*binary.right, values);
    if (!left || !right)
      return std::nullopt;
    switch (binary.op) {
    case BinaryOp::Add:
      return *left + *right;
    case BinaryOp::Subtract:
      return *left - *right;
    case BinaryOp::Multiply:
      return *left * *right;
    case BinaryOp::Divide:
      if (auto divisor = right->constant(); divisor && *divisor != 0)
        return Polynomial(1 / *divisor) * *left;
      return std::nullopt;
    default:
      return std::nullopt;
    }
  }

  const For &loop;
  const std::set<std::string> &defined;
  std::set<std::string> assigned;
  std::vector<LoopRange> inner; // loops around the statement, within the one looked at
  std::map<std::string, std::vector<Access>> accesses;
};

std::string accessText(const Access &access) {
  const Source &source = *access.place.source;
  return (access.writes ? "written as " : "read as ") + access.text + " in line " +
         std::to_string(source.line(access.place.offset)) + ", column " +
         std::to_string(source.column(access.place.offset));
}

[[noreturn]] void failDependent(const std::string &name, const Access &write, const Access &other) {
  bool same = &write == &other;
  fail(write.place, "parfor: iterations depend on each other through '" + name + "', which is " +
                        accessText(write) +
                        (same ? " by several of them" : " and " + accessText(other)) +
                        "; check=0 switches this check off");
}

} // namespace

void collectAssigned(const StatementList &statements, std::set<std::string> &names) {
  for (const StatementPtr &statement : statements) {
    if (auto *assign = statement->as<Assign>()) {
      for (const Target &target : assign->targets)
        names.insert(target.name);
    } else if (auto *branch = statement->as<If>()) {
      collectAssigned(branch->then, names);
      collectAssigned(branch->otherwise, names);
    } else if (auto *loop = statement->as<While>()) {
      collectAssigned(loop->body, names);
    } else if (auto *loop = statement->as<For>()) {
      names.insert(loop->variable);
      collectAssigned(loop->body, names);
    }
  }
}

void checkLoopDependences(const For &loop, const std::set<std::string> &defined) {
  if (isSwitchedOff(loop))
    return;
  AccessCollector collector(loop, defined);
  LoopRange iterations = collector.rangeOf(loop, loop.variable, {});
  for (const auto &[name, accesses] : collector.run()) {
    if (std::ranges::all_of(accesses, &Access::adds))
      continue;
    for (const Access &write : accesses)
      for (const Access &other : accesses) {
        bool apart = neverMeet(write.rows, other.rows, iterations) ||
                     neverMeet(write.columns, other.columns, iterations);
        if (write.writes && (write.whole || other.whole || !apart)) {
          // A read is told before the write itself: it is what goes wrong.
          auto reads = std::ranges::find_if(
              accesses, [&](const Access &access) { return write.whole && !access.writes; });
          failDependent(name, write, reads == accesses.end() ? other : *reads);
        }
      }
  }
}

} // namespace headrace::script
