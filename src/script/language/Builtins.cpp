#include "script/language/Builtins.h"

#include "script/language/BuiltinTable.h"
#include <algorithm>
#include <unordered_map>

namespace headrace::script {

/// "target margin select? ...": required, optional, variadic; "@ a b": by position alone.
static void readParameters(Builtin &builtin, std::string_view text) {
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word == "...")
      builtin.variadic = true;
    else if (word == "@")
      builtin.positional = true;
    else if (word.back() == '?')
      builtin.parameters.push_back({std::string(word.substr(0, word.size() - 1)), false});
    else
      builtin.parameters.push_back({std::string(word), true});
  }
}

using Table = std::unordered_map<std::string_view, Builtin>;

static const Table &table() {
  static const Table entries = [] {
    Table made;
    for (const BuiltinRow &row : builtinRows()) {
      std::string_view names = row.names;
      std::string canonical(names.substr(0, names.find(' ')));
      while (!names.empty()) {
        std::string_view name = names.substr(0, names.find(' '));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        Builtin builtin;
        builtin.name = name;
        builtin.canonical = canonical;
        builtin.results = row.results;
        builtin.rule = row.rule;
        readParameters(builtin, row.parameters);
        if (!made.emplace(name, std::move(builtin)).second)
          throw InternalError("built-in function '" + std::string(name) + "' is declared twice");
      }
    }
    return made;
  }();
  return entries;
}

const Builtin *findBuiltin(std::string_view name) {
  auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

std::vector<const Builtin *> allBuiltins() {
  std::vector<const Builtin *> all;
  for (const auto &[name, builtin] : table())
    all.push_back(&builtin);
  std::ranges::sort(all, {}, &Builtin::name);
  return all;
}

/// A matrix if any argument is one, `scalar` if all are scalars.
static Type broadcast(const std::vector<const Expr *> &arguments, ValueType scalar) {
  bool allScalars = true;
  for (const Expr *argument : arguments) {
    if (argument && argument->type.isMatrix())
      return Type::matrix();
    allScalars &= !argument || argument->type.isScalar();
  }
  return allScalars ? Type::scalar(scalar) : Type{};
}

/// A matrix or a number; which kind of number is known if one argument is a double.
static Type numeric(const std::vector<const Expr *> &arguments) {
  bool real = std::ranges::any_of(arguments, [](const Expr *argument) {
    return argument && argument->type == Type::scalar(ValueType::Double);
  });
  return broadcast(arguments, real ? ValueType::Double : ValueType::Unknown);
}

static Type choice(const std::vector<const Expr *> &arguments) {
  Type common = broadcast(arguments, ValueType::Unknown);
  bool agree = common.isScalar() && arguments.size() == 3 && arguments[1] && arguments[2] &&
               arguments[1]->type == arguments[2]->type;
  return agree ? arguments[1]->type : common;
}

Type resultType(const Builtin &builtin, const std::vector<const Expr *> &arguments) {
  switch (builtin.rule) {
  case ResultRule::Matrix:
    return Type::matrix();
  case ResultRule::Double:
    return Type::scalar(ValueType::Double);
  case ResultRule::Integer:
    return Type::scalar(ValueType::Integer);
  case ResultRule::Boolean:
    return Type::scalar(ValueType::Boolean);
  case ResultRule::String:
    return Type::scalar(ValueType::String);
  case ResultRule::Frame:
    return {DataType::Frame, ValueType::Unknown};
  case ResultRule::List:
    return {DataType::List, ValueType::Unknown};
  case ResultRule::Tensor:
    return {DataType::Tensor, ValueType::Unknown};
  case ResultRule::LikeFirst:
    return arguments.empty() || !arguments.front() ? Type{} : arguments.front()->type;
  case ResultRule::Bind: {
    Type first = arguments.empty() || !arguments.front() ? Type{} : arguments.front()->type;
    return first.data == DataType::List && arguments.size() == 1 ? Type::matrix() : first;
  }
  case ResultRule::Cellwise:
    return numeric(arguments);
  case ResultRule::Logical:
    return broadcast(arguments, ValueType::Unknown);
  case ResultRule::Aggregate:
    return arguments.size() == 1 ? Type::scalar(ValueType::Double) : numeric(arguments);
  case ResultRule::Choice:
    return choice(arguments);
  case ResultRule::None:
  case ResultRule::Unknown:
    return {};
  }
  throw InternalError("result rule without a meaning");
}

void failNotExecuted(SourceLocation place, const std::string &name) {
  fail(place, "'" + name + "' is understood but not executed yet", ErrorKind::Unsupported);
}

} // namespace headrace::script
