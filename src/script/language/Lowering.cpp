#include "script/language/Lowering.h"

#include "script/language/LoopDependences.h"
#include <utility>

namespace headrace::script {

void BlockBuilder::statement(SourceLocation place, Assign assign) {
  if (blocks.empty() || !blocks.back().as<BasicBlock>())
    blocks.push_back({place, BasicBlock{}});
  blocks.back().as<BasicBlock>()->statements.push_back(
      std::make_unique<Statement>(Statement{place, std::move(assign)}));
}

void Lowering::run() {
  Module &main = loader.main();
  program.folder = main.workingFolder;
  std::set<std::string> inputs;
  for (const auto &[name, type] : options.inputs)
    inputs.insert(name);
  program.main.body = FunctionLowering(*this, main).run(main.script->statements, inputs);
  if (options.allFunctions)
    for (const FunctionDefinition &definition : main.script->functions)
      if (!definition.external)
        function(main, definition);
  while (!pending.empty()) {
    Pending next = pending.back();
    pending.pop_back();
    std::set<std::string> parameters;
    for (const TypedName &input : next.function->definition->inputs)
      parameters.insert(input.name);
    next.function->body =
        FunctionLowering(*this, *next.module).run(next.function->definition->body, parameters);
  }
  program.scripts = loader.scripts();
}

const Function *Lowering::function(Module &module, const FunctionDefinition &definition) {
  Function *&entry = known[&definition];
  if (!entry) {
    program.functions.push_back(
        std::make_unique<Function>(Function{definition.name, &definition, {}}));
    entry = program.functions.back().get();
    pending.push_back({entry, &module});
  }
  return entry;
}

BlockList FunctionLowering::run(const StatementList &body, std::set<std::string> defined) {
  definedSoFar = defined;
  variables = std::move(defined);
  collectAssigned(body, variables);
  bool isScript = &body == &module->script->statements;
  BlockBuilder outermost;
  builder = &outermost;
  for (const StatementPtr &entry : body)
    if (!isScript || (!entry->as<Import>() && !entry->as<SetFolder>()))
      statement(*entry);
  return outermost.take();
}

/// A nested body.
BlockList FunctionLowering::list(const StatementList &statements) {
  BlockBuilder inner;
  BlockBuilder *outer = std::exchange(builder, &inner);
  for (const StatementPtr &entry : statements)
    statement(*entry);
  builder = outer;
  return inner.take();
}

void FunctionLowering::statement(const Statement &statement) {
  if (statement.as<Import>() || statement.as<SetFolder>())
    fail(statement.place, "expected source and setwd at the script's top level only");
  std::visit(
      [&](const auto &node) {
        if constexpr (requires { lower(statement.place, node); })
          lower(statement.place, node);
      },
      statement.node);
}

// --- Assignments -----------------------------------------------------------------------------

void FunctionLowering::lower(SourceLocation place, const Assign &node) {
  if (auto *called = node.value->as<Call>(); called && !node.accumulate)
    return callStatement(place, node, *called);
  const Target &target = node.targets.front();
  ExprPtr value = expression(*node.value);
  if (node.accumulate) {
    ExprPtr old = target.ranges ? makeExpr(target.place, Index{target.name, ranges(*target.ranges)})
                                : makeExpr(target.place, Variable{target.name});
    value = makeExpr(node.value->place, Binary{BinaryOp::Add, std::move(old), std::move(value)});
  }
  store(target, std::move(value));
  definedSoFar.insert(target.name);
}

void FunctionLowering::store(const Target &target, ExprPtr value) {
  Assign assign;
  Target to{target.name, {}, target.place};
  if (target.ranges)
    to.ranges = ranges(*target.ranges);
  assign.targets.push_back(std::move(to));
  assign.value = std::move(value);
  builder->statement(target.place, std::move(assign));
}

static std::string count(size_t number, const char *what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// `f(...)`, `x = f(...)`, `[x, Y[1,]] = f(...)`: results for which a name is not enough go through
/// variables of their own.
void FunctionLowering::callStatement(SourceLocation place, const Assign &node, const Call &called) {
  Callee callee = resolve(node.value->place, called);
  size_t results = callee.builtin ? callee.builtin->results : callee.definition->outputs.size();
  if (callee.builtin && callee.builtin->rule == ResultRule::None)
    results = 0;
  if (node.targets.size() > results)
    fail(node.targets[results].place, "'" + called.fullName() + "' has " +
                                          count(results, "result") + ", got " +
                                          count(node.targets.size(), "variable") + " to assign to");

  std::vector<Target> direct;
  std::vector<std::pair<const Target *, std::string>> later;
  bool single = callee.builtin && node.targets.size() == 1;
  for (const Target &target : node.targets) {
    Target to{target.name, {}, target.place};
    if (target.ranges && single) {
      to.ranges = ranges(*target.ranges);
    } else if (target.ranges) {
      to.name = temporary();
      later.emplace_back(&target, to.name);
    }
    direct.push_back(std::move(to));
  }

  if (callee.builtin) {
    Assign assign;
    assign.value = builtinCall(node.value->place, called, *callee.builtin);
    assign.targets = std::move(direct);
    builder->statement(place, std::move(assign));
  } else {
    CallBlock block = functionCall(node.value->place, called, callee);
    for (size_t i = 0; i < direct.size(); ++i)
      block.results[i] = direct[i].name;
    builder->block(place, std::move(block));
  }
  for (const auto &[target, name] : later)
    store(*target, makeExpr(target->place, Variable{name}));
  for (const Target &target : node.targets)
    definedSoFar.insert(target.name);
}

// --- Control flow ----------------------------------------------------------------------------

void FunctionLowering::lower(SourceLocation place, const If &node) {
  IfBlock block;
  block.condition = operand(*node.condition);
  block.then = list(node.then);
  block.otherwise = list(node.otherwise);
  builder->block(place, std::move(block));
}

void FunctionLowering::lower(SourceLocation place, const While &node) {
  WhileBlock block;
  BlockBuilder header;
  BlockBuilder *outer = std::exchange(builder, &header);
  block.condition = operand(*node.condition);
  builder = outer;
  block.header = header.take();
  block.body = list(node.body);
  builder->block(place, std::move(block));
}

void FunctionLowering::lower(SourceLocation place, const For &node) {
  if (node.parallel)
    checkLoopDependences(node, definedSoFar);
  std::set<std::string> outside = definedSoFar;
  definedSoFar.insert(node.variable);
  ForBlock block;
  block.variable = node.variable;
  block.parallel = node.parallel;
  block.from = operand(*node.from);
  block.to = operand(*node.to);
  if (node.step)
    block.step = operand(*node.step);
  for (const Argument &option : node.options)
    block.options.emplace_back(option.name, operand(*option.value));
  block.body = list(node.body);
  builder->block(place, std::move(block));
  // What an iteration of a parfor makes for itself is not there afterwards.
  if (node.parallel)
    definedSoFar = std::move(outside);
}

} // namespace headrace::script
