#include "script/DynamicCalls.h"

#include "script/language/Builtins.h"
#include "script/language/Parser.h"
#include <algorithm>

namespace headrace::script {

/// Functions are few, and so are the types of their arguments.
static constexpr size_t kMaxPrepared = 256;

DynamicCalls::DynamicCalls(const Program &program, AnalysisOptions options,
                           const ScriptSettings &settings, Statistics &statistics)
    : program(program), options(std::move(options)), settings(settings), statistics(statistics),
      prepared(kMaxPrepared) {
  this->options.inputs.clear();
  this->options.keepAll = false;
}

// Beyond this a recursion has no end.
static constexpr int kDeepestCall = 32;

static std::string argumentName(size_t i) { return "_a" + std::to_string(i + 1); }
static std::string resultName(size_t i) { return "_r" + std::to_string(i + 1); }

const Script *DynamicCalls::fileOf(const std::string &function) const {
  for (const auto &script : program.scripts)
    if (std::ranges::find(script->functions, function, &FunctionDefinition::name) !=
        script->functions.end())
      return script.get();
  return nullptr;
}

/// [_r1, ...] = function(_a1, name = _a2, ...)    with the functions and imports of a file
Program DynamicCalls::analyzeCall(const std::string &function, const Entries &arguments,
                                  size_t results) const {
  const Script *file = fileOf(function);
  Script script = parse(file ? file->source : program.scripts.front()->source);
  std::erase_if(script.statements, [](const StatementPtr &statement) {
    return !statement->as<Import>() && !statement->as<SetFolder>();
  });
  SourceLocation place{script.source.get(), 0};
  size_t scope = function.find("::");
  Call call;
  if (scope != std::string::npos)
    call.space = function.substr(0, scope);
  call.name = scope == std::string::npos ? function : function.substr(scope + 2);
  AnalysisOptions own = options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    call.arguments.push_back(
        {arguments[i].first, makeExpr(place, Variable{argumentName(i)}), place});
    own.inputs[argumentName(i)] = arguments[i].second.type();
  }
  Assign assign;
  for (size_t i = 0; i < results; ++i) {
    assign.targets.push_back({resultName(i), {}, place});
    own.outputs.push_back(resultName(i));
  }
  assign.value = makeExpr(place, std::move(call));
  script.statements.push_back(std::make_unique<Statement>(Statement{place, std::move(assign)}));
  return analyze(std::move(script), own);
}

static const FunctionDefinition *calledBy(const Program &program) {
  for (const Block &block : program.main.body)
    if (auto *call = block.as<CallBlock>())
      return call->callee->definition;
  return nullptr;
}

std::shared_ptr<DynamicCalls::Prepared> DynamicCalls::prepare(const std::string &function,
                                                              const Entries &arguments) {
  std::string key = function;
  for (const auto &[name, value] : arguments)
    key += "\n" + name + ":" + toText(value.type());
  if (auto known = prepared.find(key))
    return known;
  auto made = std::make_shared<Prepared>();
  made->program = analyzeCall(function, arguments, 1);
  made->definition = calledBy(made->program);
  if (made->definition && made->definition->outputs.size() > 1) {
    made->program = analyzeCall(function, arguments, made->definition->outputs.size());
    made->definition = calledBy(made->program);
  }
  if (made->definition)
    for (const TypedName &output : made->definition->outputs)
      made->results.push_back(output.name);
  else
    made->results.push_back("");
  prepared.add(key, made);
  return made;
}

/// A cell where a function declares a number.
static Value fitted(const Value &value, const TypedName &declared) {
  bool cell = declared.type.isScalar() && value.matrix() && rowsOf(*value.matrix()) == 1 &&
              colsOf(*value.matrix()) == 1;
  return cell ? Value(value.number("an argument")) : value;
}

DynamicCalls::Entries DynamicCalls::call(const std::string &function, Entries arguments,
                                         HostContext &context) {
  auto *list =
      arguments.size() == 1 ? arguments[0].second.as<std::shared_ptr<const List>>() : nullptr;
  if (list) {
    const Script *file = fileOf(function);
    auto definition = file ? std::ranges::find(file->functions, function, &FunctionDefinition::name)
                           : std::vector<FunctionDefinition>::const_iterator{};
    bool takesList =
        file && definition->inputs.size() == 1 && definition->inputs[0].type.data == DataType::List;
    if (!takesList)
      arguments = Entries((*list)->entries);
  }
  std::shared_ptr<Prepared> kept = prepare(function, arguments);
  Prepared &target = *kept;
  if (target.definition)
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto &inputs = target.definition->inputs;
      auto named = std::ranges::find(inputs, arguments[i].first, &TypedName::name);
      if (named != inputs.end())
        arguments[i].second = fitted(arguments[i].second, *named);
      else if (arguments[i].first.empty() && i < inputs.size())
        arguments[i].second = fitted(arguments[i].second, inputs[i]);
    }
  Environment variables;
  for (size_t i = 0; i < arguments.size(); ++i)
    variables[argumentName(i)] = arguments[i].second;
  run(target, variables, context);
  Entries results;
  for (size_t i = 0; i < target.results.size(); ++i)
    results.emplace_back(target.results[i], variables.at(resultName(i)));
  return results;
}

void DynamicCalls::run(Prepared &target, Environment &variables, HostContext &context) {
  struct Nested {
    int &depth;
    explicit Nested(int &depth) : depth(depth) { ++depth; }
    ~Nested() { --depth; }
  } nested(depth);
  if (depth > kDeepestCall)
    throw Error(ErrorKind::InvalidArgument,
                "calls by name are nested more than " + std::to_string(kDeepestCall) + " deep");
  // A function that calls itself this way runs in another interpreter: plans that are being
  // followed must stay as they are.
  std::unique_ptr<Interpreter> interpreter;
  if (target.idle.empty()) {
    interpreter = std::make_unique<Interpreter>(settings, statistics);
  } else {
    interpreter = std::move(target.idle.back());
    target.idle.pop_back();
  }
  interpreter->run(target.program, variables, context);
  target.idle.push_back(std::move(interpreter));
}

std::vector<std::shared_ptr<const Script>> DynamicCalls::scripts() const {
  std::vector<std::shared_ptr<const Script>> all;
  for (const std::shared_ptr<Prepared> &entry : prepared.all())
    all.insert(all.end(), entry->program.scripts.begin(), entry->program.scripts.end());
  return all;
}

} // namespace headrace::script
