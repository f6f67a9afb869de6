// Expressions as text, for errors and for people.
#include "frontend/expr/Stage.h"

#include <array>
#include <cmath>

namespace headrace::expr {

const char *nameOf(Op op) {
  static constexpr const char *names[] = {
      "number", "size", "position", "argument", "-",     "~",     "abs",
#define HEADRACE_FUNCTION(Id, name, ...) #name,
#include "runtime/scalar/Functions.def"
      "cast",   "+",    "-",        "*",        "/",     "//",    "%",   "**",
      "min",    "max",  "<",        "<=",       ">",     ">=",    "==",  "!=",
      "&",      "|",    "select",   "read",     "tuple", "reduce"};
  static_assert(std::size(names) == static_cast<size_t>(Op::Reduce) + 1);
  return names[static_cast<size_t>(op)];
}

namespace {

/// Writes until the text is long enough; shared parts of an expression are written each time, so
/// the whole of it could be endless.
class Writer {
public:
  std::string write(const Expr &expr) {
    add(expr, 0);
    if (full())
      text = text.substr(0, kLongest) + "...";
    return text;
  }

private:
  static constexpr size_t kLongest = 160;

  bool full() const { return text.size() > kLongest; }

  /// How tightly an operator binds: parentheses go around looser ones.
  static int tightness(Op op) {
    switch (op) {
    case Op::Or:
      return 1;
    case Op::And:
      return 2;
    case Op::Less:
    case Op::LessEqual:
    case Op::Greater:
    case Op::GreaterEqual:
    case Op::Equal:
    case Op::NotEqual:
      return 3;
    case Op::Add:
    case Op::Sub:
      return 4;
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
      return 5;
    case Op::Neg:
    case Op::Not:
      return 6;
    case Op::Pow:
      return 7;
    default:
      return 8;
    }
  }

  void list(const std::vector<Expr> &items) {
    const char *separator = "";
    for (const Expr &item : items) {
      text += separator;
      add(item, 0);
      separator = ", ";
    }
  }

  void add(const Expr &expr, int around) {
    if (full())
      return;
    int own = tightness(expr.op());
    if (own < around)
      text += "(";
    addInside(expr, own);
    if (own < around)
      text += ")";
  }

  void addInside(const Expr &expr, int own) {
    const std::vector<Expr> &operands = expr.operands();
    switch (expr.op()) {
    case Op::Number:
      return addNumber(expr);
    case Op::Size:
      text += expr->size->name;
      return;
    case Op::Position:
      text += expr->axis->name.empty() ? "axis" : expr->axis->name;
      return;
    case Op::Argument:
      text += expr->integer % 2 == 0 ? "a" : "b";
      if (expr->integer >= 2)
        text += std::to_string(expr->integer / 2);
      return;
    case Op::Neg:
    case Op::Not:
      text += nameOf(expr.op());
      return add(operands[0], own);
    case Op::Cast:
      text += std::string(headrace::nameOf(expr.dtype())) + "(";
      list(operands);
      text += ")";
      return;
    case Op::Read:
      text += (expr->stage->name.empty() ? "tensor" : expr->stage->name) + "[";
      list(operands);
      text += "]";
      return;
    case Op::Tuple:
      text += "(";
      list(operands);
      text += ")";
      return;
    case Op::Reduce:
      return addReduction(expr);
    case Op::Min:
    case Op::Max:
      break;
    default:
      if (operands.size() != 2)
        break;
      add(operands[0], own);
      text += std::string(" ") + nameOf(expr.op()) + " ";
      return add(operands[1], own + 1);
    }
    text += std::string(nameOf(expr.op())) + "(";
    list(operands);
    text += ")";
  }

  void addNumber(const Expr &expr) {
    if (expr.dtype() == DType::Bool)
      text += expr->integer ? "True" : "False";
    else if (!isFloat(expr.dtype()))
      text += std::to_string(expr->integer);
    else {
      std::array<char, 32> digits;
      std::snprintf(digits.data(), digits.size(), "%.6g", expr->number);
      std::string shown = digits.data();
      bool isWhole = std::isfinite(expr->number) && shown.find_first_of(".e") == std::string::npos;
      text += isWhole ? shown + ".0" : shown;
    }
  }

  void addReduction(const Expr &expr) {
    static constexpr std::array<const char *, 5> names = {"sum", "prod", "min", "max", "reduce"};
    text += std::string(names[static_cast<size_t>(expr->reduction->kind)]) + "(";
    add(expr.operands()[0], 0);
    for (const Axis &axis : expr->reduction->axes)
      text += ", " + (axis->name.empty() ? "axis" : axis->name);
    text += ")";
  }

  std::string text;
};

} // namespace

std::string Expr::text() const { return Writer().write(*this); }

} // namespace headrace::expr
