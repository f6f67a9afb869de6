// DimExpr::str

#include "runtime/tensor/DimExpr.h"
#include "runtime/tensor/DimExprNodes.h"

namespace headrace {

class DimExpr::Printer {
public:
  explicit Printer(std::span<const std::string> names) : names(names) {}

  std::string print(const DimExpr &expr) const {
    std::string text;
    for (const Term &term : expr.terms())
      append(text, term.coefficient, product(term));
    if (text.empty() || expr.constantPart() != 0)
      append(text, expr.constantPart(), "");
    return text;
  }

private:
  // Adds "+ coefficient*factors"; without factors the coefficient stands alone.
  static void append(std::string &text, int64_t coefficient, const std::string &factors) {
    std::string number = std::to_string(coefficient);
    bool negative = coefficient < 0;
    if (!text.empty()) {
      text += negative ? " - " : " + ";
      if (negative)
        number.erase(0, 1);
    }
    if (factors.empty())
      text += number;
    else if (number == "1" || number == "-1")
      text += (number == "1" ? "" : "-") + factors;
    else
      text += number + "*" + factors;
  }

  std::string product(const Term &term) const {
    // Next to another factor or a coefficient, an operator needs its parentheses.
    bool alone = term.factors.size() == 1 && term.coefficient == 1;
    std::string text;
    for (const auto &factor : term.factors)
      text += (text.empty() ? "" : "*") + print(*factor, alone);
    return text;
  }

  std::string print(const Atom &atom, bool alone) const {
    switch (atom.kind) {
    case Atom::Kind::Symbol:
      return atom.symbol < names.size() ? names[atom.symbol] : "s" + std::to_string(atom.symbol);
    case Atom::Kind::Max:
      return "max(" + print(atom.lhs) + ", " + print(atom.rhs) + ")";
    case Atom::Kind::Min:
      return "min(" + print(atom.lhs) + ", " + print(atom.rhs) + ")";
    case Atom::Kind::FloorDiv:
    case Atom::Kind::Mod:
      break;
    }
    std::string text =
        operand(atom.lhs) + (atom.kind == Atom::Kind::Mod ? " % " : " // ") + operand(atom.rhs);
    return alone ? text : "(" + text + ")";
  }

  std::string operand(const DimExpr &expr) const {
    std::string text = print(expr);
    return expr.asConstant() || expr.asSymbol() ? text : "(" + text + ")";
  }

  std::span<const std::string> names;
};

std::string DimExpr::str(std::span<const std::string> names) const {
  return Printer(names).print(*this);
}

} // namespace headrace
