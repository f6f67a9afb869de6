#include "script/language/Parser.h"

#include "script/language/ParserBase.h"

namespace headrace::script {

constexpr int kMaximumNesting = 200;

namespace {

class Parser {
public:
  explicit Parser(std::shared_ptr<const Source> source)
      : tokens(*source), expressions(tokens), script{std::move(source), {}, {}} {}

  Script run() {
    while (skipSeparators(), tokens.peek().kind != TokenKind::End) {
      bool assigned = tokens.peek(1).is("=") || tokens.peek(1).is("<-");
      if (assigned && (tokens.peek(2).is("function") || tokens.peek(2).is("externalFunction")))
        script.functions.push_back(function());
      else
        script.statements.push_back(statement());
    }
    return std::move(script);
  }

private:
  /// A full stop separates statements too: published scripts have one.
  void skipSeparators() {
    while (tokens.accept(";") || tokens.accept("."))
      ;
  }

  // --- Functions -----------------------------------------------------------------------------

  FunctionDefinition function() {
    FunctionDefinition function;
    function.place = tokens.place();
    function.name = tokens.expect(TokenKind::Identifier, "a function's name").text;
    tokens.take();
    function.external = tokens.take().text == "externalFunction";
    tokens.expect("(", "before the parameters of '" + function.name + "'");
    function.inputs = typedNames(!function.external);
    if (tokens.accept("return")) {
      tokens.expect("(", "after return");
      function.outputs = typedNames(false);
    }
    if (function.external) {
      function.implementation = implementation();
      return function;
    }
    if (!tokens.peek().is("{"))
      tokens.failHere("expected '{' before the body of '" + function.name + "'");
    function.body = body();
    return function;
  }

  std::vector<TypedName> typedNames(bool defaults) {
    std::vector<TypedName> names;
    if (tokens.accept(")"))
      return names;
    do {
      TypedName entry;
      entry.type = type();
      entry.place = tokens.place();
      entry.name = tokens.expect(TokenKind::Identifier, "a name after the type").text;
      if (defaults && tokens.accept("="))
        entry.defaultValue = expressions.parse();
      for (const TypedName &other : names)
        if (other.name == entry.name)
          fail(entry.place, "'" + entry.name + "' is declared twice");
      names.push_back(std::move(entry));
    } while (tokens.accept(","));
    tokens.expect(")", "after the declarations");
    return names;
  }

  Type type() {
    SourceLocation place = tokens.place();
    std::string name = tokens.expect(TokenKind::Identifier, "a type").text;
    if (!tokens.accept("["))
      return Type::scalar(valueType(name, place));
    SourceLocation inner = tokens.place();
    Type type{dataType(name, place),
              valueType(tokens.expect(TokenKind::Identifier, "a type of values").text, inner)};
    tokens.expect("]", "after the type of values");
    return type;
  }

  static std::string lowerCase(std::string text) {
    for (char &c : text)
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  }

  static ValueType valueType(const std::string &name, SourceLocation place) {
    static const std::map<std::string, ValueType> types = {
        {"double", ValueType::Double},   {"int", ValueType::Integer},
        {"integer", ValueType::Integer}, {"boolean", ValueType::Boolean},
        {"string", ValueType::String},   {"unknown", ValueType::Unknown}};
    auto found = types.find(lowerCase(name));
    if (found == types.end())
      fail(place, "expected a type (Double, Integer, Boolean, String, Matrix[Double], "
                  "Frame[String], List[Unknown]), got '" +
                      name + "'");
    return found->second;
  }

  static DataType dataType(const std::string &name, SourceLocation place) {
    static const std::map<std::string, DataType> types = {{"matrix", DataType::Matrix},
                                                          {"frame", DataType::Frame},
                                                          {"list", DataType::List},
                                                          {"tensor", DataType::Tensor},
                                                          {"scalar", DataType::Scalar}};
    auto found = types.find(lowerCase(name));
    if (found == types.end())
      fail(place, "expected Matrix, Frame, List, Tensor or Scalar, got '" + name + "'");
    return found->second;
  }

  std::map<std::string, std::string> implementation() {
    tokens.expectWord("implemented", "after the declaration of an external function");
    tokens.expectWord("in", "after implemented");
    tokens.expect("(", "after implemented in");
    std::map<std::string, std::string> entries;
    if (tokens.accept(")"))
      return entries;
    do {
      std::string name = tokens.expect(TokenKind::Identifier, "a name such as classname").text;
      tokens.expect("=", "after '" + name + "'");
      entries[name] = tokens.expect(TokenKind::String, "a string").text;
    } while (tokens.accept(","));
    tokens.expect(")", "after the implementation");
    return entries;
  }

  // --- Statements ----------------------------------------------------------------------------

  StatementPtr statement() {
    SourceLocation place = tokens.place();
    Nesting nesting(depth, kMaximumNesting, place, "statements");
    auto made = [&](auto node) {
      return std::make_unique<Statement>(Statement{place, std::move(node)});
    };
    if (tokens.accept("if"))
      return made(ifStatement());
    if (tokens.accept("while"))
      return made(whileStatement());
    if (tokens.peek().is("for") || tokens.peek().is("parfor"))
      return made(forStatement());
    if (tokens.accept("source"))
      return made(import());
    if (tokens.accept("setwd"))
      return made(setFolder());
    if (tokens.accept("["))
      return made(multipleAssignment());
    if (tokens.peek().kind == TokenKind::Identifier)
      return made(assignment());
    tokens.failHere("expected a statement");
  }

  /// `{ ... }`, or one statement without braces.
  StatementList body() {
    StatementList statements;
    if (!tokens.peek().is("{")) {
      statements.push_back(statement());
      skipSeparatorsBeforeElse();
      return statements;
    }
    SourceLocation open = tokens.placeOf(tokens.take());
    while (skipSeparators(), !tokens.accept("}")) {
      if (tokens.peek().kind == TokenKind::End)
        fail(open, "the block that begins here has no end: expected '}'");
      statements.push_back(statement());
    }
    return statements;
  }

  /// `if (c) x = 1; else x = 2`: the separator belongs to the statement inside.
  void skipSeparatorsBeforeElse() {
    size_t ahead = 0;
    while (tokens.peek(ahead).is(";"))
      ++ahead;
    if (tokens.peek(ahead).is("else"))
      skipSeparators();
  }

  ExprPtr condition(const char *statement) {
    tokens.expect("(", std::string("after ") + statement);
    ExprPtr condition = expressions.parse();
    tokens.expect(")", std::string("after the condition of ") + statement);
    return condition;
  }

  If ifStatement() {
    If node;
    node.condition = condition("if");
    node.then = body();
    if (tokens.accept("else"))
      node.otherwise = body();
    return node;
  }

  While whileStatement() {
    While node;
    node.condition = condition("while");
    node.body = body();
    return node;
  }

  For forStatement() {
    For node;
    std::string word = tokens.take().text;
    node.parallel = word == "parfor";
    tokens.expect("(", "after " + word);
    node.variable = tokens.expect(TokenKind::Identifier, "the variable of the loop").text;
    tokens.expectWord("in", "after the variable of the loop");
    range(node);
    while (tokens.accept(",")) {
      Argument option;
      option.place = tokens.place();
      option.name = tokens.expect(TokenKind::Identifier, "an option of the loop").text;
      tokens.expect("=", "after '" + option.name + "'");
      option.value = expressions.parse();
      node.options.push_back(std::move(option));
    }
    tokens.expect(")", "after the range of the loop");
    node.body = body();
    return node;
  }

  /// `from:to` or `seq(from, to[, step])`
  void range(For &node) {
    ExprPtr first = expressions.parse();
    if (tokens.accept(":")) {
      node.from = std::move(first);
      node.to = expressions.parse();
      return;
    }
    auto *call = first->as<Call>();
    bool sequence = call && call->fullName() == "seq" && call->arguments.size() >= 2 &&
                    call->arguments.size() <= 3;
    if (!sequence)
      fail(first->place, "expected a range, as in for (i in 1:n) or for (i in seq(1, n, 2))");
    node.from = std::move(call->arguments[0].value);
    node.to = std::move(call->arguments[1].value);
    if (call->arguments.size() == 3)
      node.step = std::move(call->arguments[2].value);
  }

  Import import() {
    Import node;
    tokens.expect("(", "after source");
    node.path = tokens.expect(TokenKind::String, "a file's name as a string").text;
    tokens.expect(")", "after the file's name");
    tokens.expectWord("as", "after source(...)");
    node.space = tokens.expect(TokenKind::Identifier, "a namespace").text;
    return node;
  }

  SetFolder setFolder() {
    SetFolder node;
    tokens.expect("(", "after setwd");
    node.path = tokens.expect(TokenKind::String, "a directory's name as a string").text;
    tokens.expect(")", "after the directory's name");
    return node;
  }

  // --- Assignments ---------------------------------------------------------------------------

  Target target() {
    Target target;
    target.place = tokens.place();
    target.name = tokens.expect(TokenKind::Identifier, "a variable to assign to").text;
    if (target.name.find("::") != std::string::npos)
      fail(target.place, "expected a variable to assign to, got '" + target.name + "'");
    if (tokens.accept("["))
      target.ranges = expressions.ranges();
    return target;
  }

  bool acceptAssignment() { return tokens.accept("=") || tokens.accept("<-"); }

  Assign multipleAssignment() {
    Assign node;
    do
      node.targets.push_back(target());
    while (tokens.accept(","));
    tokens.expect("]", "after the variables to assign to");
    if (!acceptAssignment())
      tokens.failHere("expected '=' after the variables to assign to");
    node.value = expressions.parse();
    if (!node.value->as<Call>())
      fail(node.value->place, "expected a function call: only a call has several results");
    return node;
  }

  Assign assignment() {
    Assign node;
    if (tokens.peek(1).is("(")) {
      node.value = expressions.parse();
      if (!node.value->as<Call>())
        fail(node.value->place, "expected a statement, got an expression whose value is not used");
      return node;
    }
    node.targets.push_back(target());
    node.accumulate = tokens.accept("+=");
    if (!node.accumulate && !acceptAssignment())
      tokens.failHere("expected '=' after '" + node.targets.front().name + "'");
    if (tokens.peek().is("function") || tokens.peek().is("externalFunction"))
      fail(node.targets.front().place, "expected a function at the script's top level, got '" +
                                           node.targets.front().name + "' inside a block");
    node.value = expressions.parse();
    return node;
  }

  TokenStream tokens;
  ExpressionParser expressions;
  Script script;
  int depth = 0;
};

} // namespace

Script parse(std::shared_ptr<const Source> source) { return Parser(std::move(source)).run(); }

} // namespace headrace::script
