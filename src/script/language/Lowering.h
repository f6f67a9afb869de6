#pragma once

#include "script/language/BlockBuilder.h"
#include "script/language/Loader.h"
#include <set>

namespace headrace::script {

/// Turns syntax trees into blocks: resolves calls, binds arguments and `$parameters`, moves calls
/// of script functions and what control flow depends on out of expressions.
class Lowering {
public:
  Lowering(Loader &loader, const AnalysisOptions &options, Program &program)
      : loader(loader), options(options), program(program) {}

  /// The script, then every function it reaches.
  void run();

private:
  friend class FunctionLowering;

  const Function *function(Module &module, const FunctionDefinition &definition);

  struct Pending {
    Function *function;
    Module *module;
  };

  Loader &loader;
  const AnalysisOptions &options;
  Program &program;
  std::map<const FunctionDefinition *, Function *> known;
  std::vector<Pending> pending;
};

/// One function's body. Statements are lowered in order; their operands are appended first.
class FunctionLowering {
public:
  FunctionLowering(Lowering &shared, Module &module) : shared(shared), module(&module) {}

  BlockList run(const StatementList &body, std::set<std::string> defined);

private:
  // Statements (Lowering.cpp)
  BlockList list(const StatementList &statements);
  void statement(const Statement &statement);
  void lower(SourceLocation place, const Assign &node);
  void lower(SourceLocation place, const If &node);
  void lower(SourceLocation place, const While &node);
  void lower(SourceLocation place, const For &node);
  void callStatement(SourceLocation place, const Assign &node, const Call &call);
  void store(const Target &target, ExprPtr value);

  // Expressions (ExpressionLowering.cpp)
  struct Callee {
    const Builtin *builtin = nullptr;
    Module *module = nullptr;
    const FunctionDefinition *definition = nullptr;
  };
  Callee resolve(SourceLocation place, const Call &call);
  ExprPtr expression(const Expr &expr);
  ExprPtr parameter(SourceLocation place, const std::string &name);
  ExprPtr call(const Expr &expr, const Call &call);
  ExprPtr builtinCall(SourceLocation place, const Call &call, const Builtin &builtin);
  IndexRanges ranges(const IndexRanges &ranges);
  Operand operand(const Expr &expr);
  Operand keep(ExprPtr lowered);
  CallBlock functionCall(SourceLocation place, const Call &call, const Callee &callee);
  Operand defaultOperand(SourceLocation place, const Callee &callee, size_t position,
                         const std::vector<std::optional<Operand>> &bound);
  std::string temporary() { return "_" + std::to_string(++temporaries); }

  Lowering &shared;
  Module *module; ///< the file whose names are meant: the caller's, in defaults the callee's
  BlockBuilder *builder = nullptr;
  std::set<std::string> variables; ///< everything this function assigns
  std::set<std::string> definedSoFar;
  int temporaries = 0;
  int defaultDepth = 0;
};

} // namespace headrace::script
