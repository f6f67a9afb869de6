#include "script/OperatorGraph.h"

#include "script/language/Operators.h"

namespace headrace::script {

namespace {

class Writer {
public:
  Writer(SourceLocation place, const GraphOperation &operation)
      : place(place), operation(operation) {}

  void write(StatementList &statements) const {
    if (operation.function == "assign")
      return writeAssignment(statements);
    Assign assign;
    for (const std::string &target : operation.targets)
      assign.targets.push_back({target, {}, place});
    assign.value = value();
    add(statements, std::move(assign));
  }

private:
  void add(StatementList &statements, Assign assign) const {
    statements.push_back(std::make_unique<Statement>(Statement{place, std::move(assign)}));
  }

  /// y = x; y[ranges] = value
  void writeAssignment(StatementList &statements) const {
    expect(6);
    const std::string &target = operation.targets.at(0);
    Assign copy, assign;
    copy.targets.push_back({target, {}, place});
    copy.value = operand(0);
    assign.targets.push_back({target, ranges(2), place});
    assign.value = operand(1);
    add(statements, std::move(copy));
    add(statements, std::move(assign));
  }

  ExprPtr value() const {
    const std::string &function = operation.function;
    if (function == "index") {
      expect(5);
      auto *x = std::get_if<Variable>(&operation.operands[0].value);
      if (!x)
        throw InternalError("an index of a literal");
      return makeExpr(place, Index{x->name, ranges(1)});
    }
    if (const UnaryOperator *unary = unaryOperator(function);
        unary && operation.operands.size() == 1)
      return makeExpr(place, Unary{unary->op, operand(0)});
    if (const BinaryOperator *binary = binaryOperator(function)) {
      expect(2);
      return makeExpr(place, Binary{binary->op, operand(0), operand(1)});
    }
    Call call;
    call.name = function;
    for (size_t i = 0; i < operation.operands.size(); ++i)
      call.arguments.push_back({operation.operands[i].name, operand(i), place});
    return makeExpr(place, std::move(call));
  }

  void expect(size_t count) const {
    if (operation.operands.size() != count)
      throw Error(ErrorKind::InvalidArgument, "'" + operation.function + "': expected " +
                                                  std::to_string(count) + " operands, got " +
                                                  std::to_string(operation.operands.size()));
  }

  /// Null if it is not given.
  ExprPtr operand(size_t i) const {
    const auto &value = operation.operands[i].value;
    if (auto *variable = std::get_if<Variable>(&value))
      return makeExpr(place, *variable);
    if (auto *literal = std::get_if<LiteralValue>(&value))
      return makeExpr(place, Literal{*literal});
    return nullptr;
  }

  IndexRanges ranges(size_t first) const {
    return {{operand(first), operand(first + 1)}, {operand(first + 2), operand(first + 3)}, true};
  }

  SourceLocation place;
  const GraphOperation &operation;
};

} // namespace

Script scriptOf(const std::string &name, const std::vector<GraphOperation> &operations) {
  std::string text;
  std::vector<uint32_t> offsets;
  for (const GraphOperation &operation : operations) {
    offsets.push_back(static_cast<uint32_t>(text.size()));
    text += operation.text + "\n";
  }
  Script script;
  script.source = std::make_shared<const Source>(name, std::move(text));
  for (size_t i = 0; i < operations.size(); ++i)
    Writer({script.source.get(), offsets[i]}, operations[i]).write(script.statements);
  return script;
}

} // namespace headrace::script
