#pragma once

#include "script/plan/BlockRunner.h"

namespace headrace::script {

/// Executes a program's control flow around its basic blocks.
class Interpreter {
public:
  Interpreter(const ScriptSettings &settings, Statistics &statistics)
      : runner(settings, statistics) {}

  /// Runs the script; `variables` are its inputs, and afterwards what it left.
  void run(const Program &program, Environment &variables, HostContext &context);

private:
  void run(const BlockList &blocks, Environment &variables);
  void run(const Block &block, Environment &variables);
  void call(const CallBlock &call, SourceLocation place, Environment &variables);
  void runWhile(const WhileBlock &loop, Environment &variables);
  void runFor(const ForBlock &loop, Environment &variables);
  Value value(const Operand &operand, const Environment &variables) const;
  bool condition(const Operand &operand, const Environment &variables) const;

  BlockRunner runner;
  HostContext *context = nullptr;
  int depth = 0;
  LoopState loop;
  /// The variables that a loop writes.
  std::unordered_map<const Block *, std::set<std::string>> written;
};

} // namespace headrace::script
