#include "script/FreeVariables.h"

#include <algorithm>
#include <set>

namespace headrace::script {

namespace {
struct Collector {
  std::set<std::string> written;
  std::vector<std::string> read;

  void use(const std::string &name) {
    if (!written.contains(name) && std::ranges::find(read, name) == read.end())
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

std::vector<std::string> freeVariables(const StatementList &statements, size_t first) {
  Collector collector;
  for (size_t i = first; i < statements.size(); ++i) {
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
