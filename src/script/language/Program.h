#pragma once

#include "script/language/Builtins.h"

/// A script as a tree of blocks, which an executor walks.
///
/// All computation is in BasicBlocks, whose statements are assignments and whose calls are
/// built-in functions only. Control flow and calls of script functions use operands: literals, or
/// variables that a basic block before them computed (analysis introduces variables named
/// `_1`, `_2`, ... for that; a script cannot spell such names). So
///
///     while (i < n & f(r) > eps) r = step(r, 2 * i)
///
/// is
///
///     while  header: call _1 = f(r); straight { _2 = i < n & _1 > eps }   condition: _2
///            body:   straight { _3 = 2 * i }; call r = step(r, _3)
namespace headrace::script {

struct Function;

/// A literal, or a variable's name.
struct Operand {
  std::variant<LiteralValue, std::string> value;
  SourceLocation place;

  const std::string *variable() const {
    // The alternatives differ, though a literal may be a string too.
    return std::get_if<1>(&value);
  }
  const LiteralValue *literal() const { return std::get_if<0>(&value); }
};

/// A variable that a block reads, and what is known of it there.
struct Input {
  std::string name;
  Type type;
};

/// Statements one after another: the unit of compilation.
struct BasicBlock {
  /// Assign only. No `+=`, no `$parameters`; calls have `Call::builtin` set.
  StatementList statements;
  /// Variables read before they are written here; `X[i,] = v` reads X.
  std::vector<Input> inputs;
  /// Variables written here that something later reads: what must be kept. In alphabetical order.
  std::vector<std::string> outputs;
  /// Variables whose value is not needed after this block: what may be freed or overwritten.
  /// In alphabetical order.
  std::vector<std::string> lastUses;
};

/// `results = callee(arguments)`: one argument per parameter, defaults filled in; one result per
/// output of the callee, empty if it is not requested.
struct CallBlock {
  const Function *callee = nullptr;
  /// The function to call instead if the first argument is a scalar; mostly null.
  const Function *ofScalar = nullptr;
  std::vector<Operand> arguments;
  std::vector<std::string> results;
  /// For each result, whether something reads it afterwards.
  std::vector<bool> wanted;
  std::vector<std::string> lastUses;
};

struct Block;
using BlockList = std::vector<Block>;

struct IfBlock {
  Operand condition;
  BlockList then, otherwise;
};

/// Runs the header, stops if the condition is false, runs the body, and so on.
struct WhileBlock {
  BlockList header;
  Operand condition;
  BlockList body;
};

struct ForBlock {
  std::string variable;
  Operand from, to;
  std::optional<Operand> step; ///< none: 1 or -1, towards `to`
  bool parallel = false;
  std::vector<std::pair<std::string, Operand>> options;
  BlockList body;
};

struct Block {
  SourceLocation place;
  std::variant<BasicBlock, CallBlock, IfBlock, WhileBlock, ForBlock> node;

  template <typename T> T *as() { return std::get_if<T>(&node); }
  template <typename T> const T *as() const { return std::get_if<T>(&node); }
};

struct Function {
  std::string name;                               ///< empty for the script itself
  const FunctionDefinition *definition = nullptr; ///< null for the script itself
  BlockList body;
};

/// A script with everything it can reach, resolved and checked. Keeps its sources alive.
struct Program {
  /// The files, in the order they were loaded; places and definitions point into them.
  std::vector<std::shared_ptr<const Script>> scripts;
  Function main;
  std::vector<std::unique_ptr<Function>> functions;
  /// From setwd(...): what relative file names of read and write are relative to. Often empty.
  std::string folder;
};

/// The block tree as text, for -explain and for tests.
std::string print(const Program &program);
std::string print(const BlockList &blocks, int level = 0);

} // namespace headrace::script
