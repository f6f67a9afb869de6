#include "script/language/Printer.h"
#include "script/language/Program.h"

namespace headrace::script {

static std::string indent(int level) { return std::string(2 * static_cast<size_t>(level), ' '); }

static std::string text(const Operand &operand) {
  return operand.variable() ? *operand.variable() : print(*operand.literal());
}

static std::string listed(const std::vector<std::string> &names) {
  std::string result;
  for (const std::string &name : names)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

namespace {

struct BlockPrinter {
  int level;

  std::string operator()(const BasicBlock &block) const {
    std::vector<std::string> inputs;
    inputs.reserve(block.inputs.size());
    for (const Input &input : block.inputs)
      inputs.push_back(input.type == Type{} ? input.name : toText(input.type) + " " + input.name);
    std::string result = indent(level) + "block (" + listed(inputs) + ") -> (" +
                         listed(block.outputs) + ") ends (" + listed(block.lastUses) + ")\n";
    for (const StatementPtr &statement : block.statements)
      result += indent(level + 1) + print(*statement);
    return result;
  }

  std::string operator()(const CallBlock &block) const {
    std::vector<std::string> arguments;
    arguments.reserve(block.arguments.size());
    for (const Operand &argument : block.arguments)
      arguments.push_back(text(argument));
    std::vector<std::string> results;
    results.reserve(block.results.size());
    for (const std::string &result : block.results)
      results.push_back(result.empty() ? "-" : result);
    return indent(level) + "call [" + listed(results) + "] = " + block.callee->name + "(" +
           listed(arguments) + ") ends (" + listed(block.lastUses) + ")\n";
  }

  std::string operator()(const IfBlock &block) const {
    std::string result =
        indent(level) + "if " + text(block.condition) + "\n" + print(block.then, level + 1);
    if (!block.otherwise.empty())
      result += indent(level) + "else\n" + print(block.otherwise, level + 1);
    return result;
  }

  std::string operator()(const WhileBlock &block) const {
    return indent(level) + "while\n" + print(block.header, level + 1) + indent(level) + "do " +
           text(block.condition) + "\n" + print(block.body, level + 1);
  }

  std::string operator()(const ForBlock &block) const {
    std::string result = indent(level) + (block.parallel ? "parfor " : "for ") + block.variable +
                         " in " + text(block.from) + ":" + text(block.to);
    if (block.step)
      result += " by " + text(*block.step);
    for (const auto &[name, operand] : block.options)
      result += ", " + name + " = " + text(operand);
    return result + "\n" + print(block.body, level + 1);
  }
};

} // namespace

std::string print(const BlockList &blocks, int level) {
  std::string result;
  for (const Block &block : blocks)
    result += std::visit(BlockPrinter{level}, block.node);
  return result;
}

std::string print(const Program &program) {
  std::string result;
  for (const auto &function : program.functions) {
    std::string inputs, outputs;
    for (const TypedName &input : function->definition->inputs)
      inputs += (inputs.empty() ? "" : ", ") + toText(input.type) + " " + input.name;
    for (const TypedName &output : function->definition->outputs)
      outputs += (outputs.empty() ? "" : ", ") + toText(output.type) + " " + output.name;
    result.append("function ").append(function->name).append("(").append(inputs);
    result.append(") -> (").append(outputs).append(")\n").append(print(function->body, 1));
  }
  return result + print(program.main.body);
}

} // namespace headrace::script
