#include "script/language/Flow.h"
#include "script/language/VariableNumbers.h"
#include <algorithm>
#include <map>
#include <utility>

namespace headrace::script {

namespace {

/// After this many rounds types that still change in loops are given up on.
constexpr int kRoundsWithTypes = 8;

enum class Defined : uint8_t { Never, Sometimes, Always };

struct State {
  Defined defined = Defined::Never;
  Type type;
  bool operator==(const State &) const = default;
};

Type join(Type a, Type b) {
  return {a.data == b.data ? a.data : DataType::Unknown,
          a.value == b.value ? a.value : ValueType::Unknown};
}

State join(const State &a, const State &b) {
  if (a == b)
    return a;
  if (a.defined == Defined::Never || b.defined == Defined::Never) {
    State known = a.defined == Defined::Never ? b : a;
    if (known.defined != Defined::Never)
      known.defined = Defined::Sometimes;
    return known;
  }
  bool always = a.defined == Defined::Always && b.defined == Defined::Always;
  return {always ? Defined::Always : Defined::Sometimes, join(a.type, b.type)};
}

/// The abstract state of every variable, by number. Branches undo their changes, so that a script
/// of many branches costs as much as they change, whatever the number of variables.
class Environment {
public:
  size_t size() const { return states.size(); }
  State at(size_t number) const { return number < states.size() ? states[number] : State{}; }

  void set(size_t number, const State &state) {
    if (at(number) == state)
      return;
    if (number >= states.size())
      states.resize(number + 1);
    if (changes)
      changes->emplace_back(number, states[number]);
    states[number] = state;
  }

  /// A copy of the states, without a record of changes to undo.
  Environment copy() const {
    Environment result;
    result.states = states;
    return result;
  }

  void join(const Environment &other) {
    for (size_t i = 0; i < std::max(size(), other.size()); ++i)
      set(i, headrace::script::join(at(i), other.at(i)));
  }

  /// Runs the branch, takes back what it changed, and returns that: each variable as it left it.
  template <class Branch> std::map<size_t, State> tried(Branch branch) {
    Changes own;
    Changes *outer = std::exchange(changes, &own);
    branch();
    std::map<size_t, State> left;
    for (const auto &[number, before] : own)
      left[number] = states[number];
    for (size_t i = own.size(); i-- > 0;)
      states[own[i].first] = own[i].second;
    changes = outer;
    return left;
  }

  void forgetTypes() {
    for (State &state : states)
      state.type = {};
  }

  bool operator==(const Environment &other) const { return states == other.states; }

private:
  using Changes = std::vector<std::pair<size_t, State>>; // with the state before
  std::vector<State> states;
  Changes *changes = nullptr;
};

Type typeOf(const LiteralValue &value) {
  constexpr ValueType types[] = {ValueType::Integer, ValueType::Double, ValueType::Boolean,
                                 ValueType::String};
  return Type::scalar(types[value.index()]);
}

Type arithmeticType(BinaryOp op, Type left, Type right) {
  if (left.isMatrix() || right.isMatrix())
    return Type::matrix();
  if (op == BinaryOp::MatrixMultiply)
    return Type::matrix();
  if (op == BinaryOp::Add && (left.isString() || right.isString()))
    return Type::scalar(ValueType::String);
  if (!left.isScalar() || !right.isScalar())
    return {};
  bool logical = op == BinaryOp::And || op == BinaryOp::Or;
  bool truths = left.value == ValueType::Boolean && right.value == ValueType::Boolean;
  if (op >= BinaryOp::Less && (!logical || truths))
    return Type::scalar(ValueType::Boolean);
  bool known = left.value != ValueType::Unknown && right.value != ValueType::Unknown;
  bool integers = left.value == ValueType::Integer && right.value == ValueType::Integer;
  if (op == BinaryOp::Divide || op == BinaryOp::Power || (known && (!integers || logical)))
    return Type::scalar(ValueType::Double);
  return Type::scalar(integers ? ValueType::Integer : ValueType::Unknown);
}

/// Abstract interpretation over (defined, type). Rounds over the function go on until what comes
/// back to the loops' tops is stable; the last round reports and writes the types down.
class TypeFlow {
public:
  explicit TypeFlow(Function &function) : function(function) {}

  void run(const std::map<std::string, Type> &known) {
    Environment start;
    for (const auto &[name, type] : known)
      start.set(numbers.of(name), {Defined::Always, type});
    for (round = 0; round == 0 || changed; ++round) {
      changed = false;
      Environment environment = start.copy();
      list(function.body, environment);
    }
    final = true;
    Environment environment = start.copy();
    list(function.body, environment);
    checkResults(environment);
  }

private:
  State state(const Environment &environment, const std::string &name) {
    return environment.at(numbers.of(name));
  }

  void define(Environment &environment, const std::string &name, Type type) {
    environment.set(numbers.of(name), {Defined::Always, type});
  }

  Type read(Environment &environment, const std::string &name, SourceLocation place) {
    State found = state(environment, name);
    if (final && found.defined == Defined::Never)
      fail(place, "variable '" + name + "' is not defined");
    return found.type;
  }

  Type read(Environment &environment, const Operand &operand) {
    return operand.variable() ? read(environment, *operand.variable(), operand.place)
                              : typeOf(*operand.literal());
  }

  // --- Blocks --------------------------------------------------------------------------------

  void list(BlockList &blocks, Environment &environment) {
    for (Block &block : blocks)
      std::visit([&](auto &node) { visit(node, environment); }, block.node);
  }

  void visit(BasicBlock &block, Environment &environment) {
    if (final)
      for (Input &input : block.inputs)
        input.type = state(environment, input.name).type;
    for (const StatementPtr &statement : block.statements) {
      const Assign &assign = *statement->as<Assign>();
      Type type = infer(*assign.value, environment);
      for (const Target &target : assign.targets) {
        bool first = &target == &assign.targets.front();
        if (target.ranges) {
          forEachOperand(*target.ranges, [&](Expr &part) { infer(part, environment); });
          read(environment, target.name, target.place);
        } else {
          // Of several results the table describes the first alone.
          define(environment, target.name, first ? type : Type{});
        }
      }
    }
  }

  void visit(CallBlock &block, Environment &environment) {
    Type first;
    for (const Operand &argument : block.arguments) {
      Type type = read(environment, argument);
      first = &argument == &block.arguments.front() ? type : first;
    }
    for (size_t i = 0; i < block.results.size(); ++i) {
      if (block.results[i].empty())
        continue;
      Type type = block.callee->definition->outputs[i].type;
      if (block.ofScalar && !first.isMatrix())
        type = first.isScalar() ? block.ofScalar->definition->outputs[i].type : Type{};
      define(environment, block.results[i], type);
    }
  }

  void visit(IfBlock &block, Environment &environment) {
    read(environment, block.condition);
    auto then = environment.tried([&] { list(block.then, environment); });
    auto otherwise = environment.tried([&] { list(block.otherwise, environment); });
    for (const auto &[number, state] : then)
      if (!otherwise.contains(number))
        environment.set(number, join(state, environment.at(number)));
    for (const auto &[number, state] : otherwise) {
      auto other = then.find(number);
      environment.set(number,
                      join(other == then.end() ? environment.at(number) : other->second, state));
    }
  }

  void visit(WhileBlock &block, Environment &environment) {
    joinBack(&block, environment);
    list(block.header, environment);
    read(environment, block.condition);
    Environment body = environment.copy();
    list(block.body, body);
    keepBack(&block, std::move(body));
  }

  void visit(ForBlock &block, Environment &environment) {
    Type from = read(environment, block.from);
    read(environment, block.to);
    if (block.step)
      read(environment, *block.step);
    for (const auto &[name, operand] : block.options)
      read(environment, operand);
    joinBack(&block, environment);
    Environment body = environment.copy();
    Type variable = from.isScalar() && !block.step ? from : Type::scalar(ValueType::Unknown);
    define(body, block.variable, variable);
    list(block.body, body);
    environment.join(body);
    keepBack(&block, std::move(body));
  }

  // --- What loops bring back -----------------------------------------------------------------

  void joinBack(const void *loop, Environment &environment) {
    if (auto found = backEdges.find(loop); found != backEdges.end())
      environment.join(found->second);
  }

  void keepBack(const void *loop, Environment body) {
    if (final)
      return;
    auto [entry, isNew] = backEdges.try_emplace(loop, body);
    Environment joined = std::move(body);
    if (!isNew)
      joined.join(entry->second);
    if (round >= kRoundsWithTypes)
      joined.forgetTypes();
    if (isNew || !(joined == entry->second)) {
      changed = true;
      entry->second = std::move(joined);
    }
  }

  // --- Expressions ---------------------------------------------------------------------------

  Type infer(Expr &expr, Environment &environment) {
    Type type;
    if (auto *call = expr.as<Call>(); call && call->builtin->canonical == "exists") {
      type = Type::scalar(ValueType::Boolean); // asks whether its argument is defined
    } else {
      forEachOperand(expr, [&](Expr &operand) { infer(operand, environment); });
      type = ownType(expr, environment);
    }
    expr.type = type;
    return type;
  }

  Type ownType(Expr &expr, Environment &environment) {
    if (auto *literal = expr.as<Literal>())
      return typeOf(literal->value);
    if (auto *variable = expr.as<Variable>())
      return read(environment, variable->name, expr.place);
    if (auto *index = expr.as<Index>())
      return read(environment, index->name, expr.place);
    if (auto *unary = expr.as<Unary>()) {
      Type operand = unary->operand->type;
      bool number = unary->op == UnaryOp::Not && operand.isScalar() &&
                    operand.value != ValueType::Boolean && operand.value != ValueType::Unknown;
      return number ? Type::scalar(ValueType::Double) : operand;
    }
    if (auto *binary = expr.as<Binary>())
      return arithmeticType(binary->op, binary->left->type, binary->right->type);
    if (auto *call = expr.as<Call>()) {
      std::vector<const Expr *> arguments;
      arguments.reserve(call->arguments.size());
      for (const Argument &argument : call->arguments)
        arguments.push_back(argument.value.get());
      return resultType(*call->builtin, arguments);
    }
    return {};
  }

  void checkResults(Environment &environment) {
    if (!function.definition)
      return;
    for (const TypedName &output : function.definition->outputs) {
      State result = state(environment, output.name);
      if (result.defined == Defined::Never)
        fail(output.place,
             "result '" + output.name + "' of '" + function.name + "' is never assigned");
      if (loses(result.type, output.type))
        fail(output.place,
             "result '" + output.name + "' of '" + function.name + "' is declared " +
                 toText(output.type) + ", got " + toText(result.type),
             ErrorKind::TypeMismatch);
    }
  }

  /// Whether a scalar cannot be returned as the type declared, as far as it can be told here.
  static bool loses(Type found, Type declared) {
    if (!found.isScalar() || !declared.isScalar())
      return false;
    bool noNumber = found.value == ValueType::Boolean || found.value == ValueType::String;
    return (declared.value == ValueType::Integer &&
            (noNumber || found.value == ValueType::Double)) ||
           (declared.value == ValueType::Double && noNumber);
  }

  Function &function;
  VariableNumbers numbers;
  std::map<const void *, Environment> backEdges;
  int round = 0;
  bool changed = false;
  bool final = false;
};

} // namespace

void followTypes(Function &function, const std::map<std::string, Type> &known) {
  TypeFlow(function).run(known);
}

} // namespace headrace::script
