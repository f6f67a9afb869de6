#include "frontend/script/Flow.h"
#include "frontend/script/VariableNumbers.h"

namespace headrace::script {

namespace {

/// After so many rounds types that still change in loops are given up on.
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

using Environment = std::vector<State>;

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
  if (op >= BinaryOp::Less)
    return Type::scalar(ValueType::Boolean);
  bool known = left.value != ValueType::Unknown && right.value != ValueType::Unknown;
  bool integers = left.value == ValueType::Integer && right.value == ValueType::Integer;
  if (op == BinaryOp::Divide || op == BinaryOp::Power || (known && !integers))
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
      state(start, name) = {Defined::Always, type};
    for (round = 0; round == 0 || changed; ++round) {
      changed = false;
      Environment environment = start;
      list(function.body, environment);
    }
    final = true;
    Environment environment = start;
    list(function.body, environment);
    checkResults(environment);
  }

private:
  State &state(Environment &environment, const std::string &name) {
    size_t number = numbers.of(name);
    if (number >= environment.size())
      environment.resize(number + 1);
    return environment[number];
  }

  static void joinInto(Environment &into, const Environment &other) {
    if (into.size() < other.size())
      into.resize(other.size());
    for (size_t i = 0; i < into.size(); ++i)
      into[i] = join(into[i], i < other.size() ? other[i] : State{});
  }

  Type read(Environment &environment, const std::string &name, Place place) {
    const State &found = state(environment, name);
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

  void visit(StraightBlock &block, Environment &environment) {
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
          state(environment, target.name) = {Defined::Always, first ? type : Type{}};
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
      state(environment, block.results[i]) = {Defined::Always, type};
    }
  }

  void visit(IfBlock &block, Environment &environment) {
    read(environment, block.condition);
    Environment otherwise = environment;
    list(block.then, environment);
    list(block.otherwise, otherwise);
    joinInto(environment, otherwise);
  }

  void visit(WhileBlock &block, Environment &environment) {
    joinBack(&block, environment);
    list(block.header, environment);
    read(environment, block.condition);
    Environment body = environment;
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
    Environment body = environment;
    Type variable = from.isScalar() && !block.step ? from : Type::scalar(ValueType::Unknown);
    state(body, block.variable) = {Defined::Always, variable};
    list(block.body, body);
    joinInto(environment, body);
    keepBack(&block, std::move(body));
  }

  // --- What loops bring back -----------------------------------------------------------------

  void joinBack(const void *loop, Environment &environment) {
    if (auto found = backEdges.find(loop); found != backEdges.end())
      joinInto(environment, found->second);
  }

  void keepBack(const void *loop, Environment body) {
    if (final)
      return;
    auto [entry, isNew] = backEdges.try_emplace(loop, body);
    Environment joined = body;
    if (!isNew)
      joinInto(joined, entry->second);
    if (round >= kRoundsWithTypes)
      for (State &state : joined)
        state.type = {};
    if (isNew || joined != entry->second) {
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
      bool logical = unary->op == UnaryOp::Not && operand.isScalar();
      return logical ? Type::scalar(ValueType::Boolean) : operand;
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
    for (const TypedName &output : function.definition->outputs)
      if (state(environment, output.name).defined == Defined::Never)
        fail(output.place,
             "result '" + output.name + "' of '" + function.name + "' is never assigned");
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
