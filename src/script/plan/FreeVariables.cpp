#include "script/plan/FreeVariables.h"

#include <unordered_set>

namespace headrace::script {

namespace {
struct Collector {
  std::unordered_set<std::string> written, seen;
  std::vector<std::string> read;

  void use(const std::string &name) {
    if (!written.contains(name) && seen.insert(name).second)
      read.push_back(name);
  }
  void visit(const Expr &expr) {
    if (auto *variable = expr.as<Variable>())
      use(variable->name);
    if (auto *index = expr.as<Index>())
      use(index->name);
    forEachOperand(expr, [&](const Expr &operand) { visit(operand); });
  }
};
} // namespace

std::vector<std::string> freeVariables(const StatementList &statements, size_t first, size_t most) {
  Collector collector;
  for (size_t i = first; i < statements.size() && i - first < most; ++i) {
    const Assign &assign = *statements[i]->as<Assign>();
    collector.visit(*assign.value);
    for (const Target &target : assign.targets) {
      if (target.ranges) {
        collector.use(target.name);
        forEachOperand(*target.ranges, [&](const Expr &expr) { collector.visit(expr); });
      }
      collector.written.insert(target.name);
    }
  }
  return collector.read;
}

} // namespace headrace::script
