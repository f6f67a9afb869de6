#include "script/language/Flow.h"
#include "script/language/VariableNumbers.h"
#include <set>

namespace headrace::script {

namespace {

/// Live variables, backwards. A loop needs no iteration to a fixed point: what a body reads first
/// (`live(body, nothing)`) is what going round once more adds, whatever is live behind the loop.
class UseFlow {
public:
  void run(Function &function, const std::vector<std::string> &kept) {
    VariableSet live;
    for (const std::string &name : kept)
      live.insert(numbers.of(name));
    list(function.body, live, /*record=*/true);
  }

private:
  void list(BlockList &blocks, VariableSet &live, bool record) {
    for (size_t i = blocks.size(); i-- > 0;)
      std::visit([&](auto &node) { visit(node, live, record); }, blocks[i].node);
  }

  void read(const Operand &operand, VariableSet &live) {
    if (operand.variable())
      live.insert(numbers.of(*operand.variable()));
  }

  void read(const Expr &expr, VariableSet &live) {
    if (auto *variable = expr.as<Variable>())
      live.insert(numbers.of(variable->name));
    else if (auto *index = expr.as<Index>())
      live.insert(numbers.of(index->name));
    forEachOperand(expr, [&](const Expr &operand) { read(operand, live); });
  }

  void visitStatement(const Assign &assign, VariableSet &live) {
    for (const Target &target : assign.targets)
      if (!target.ranges)
        live.erase(numbers.of(target.name));
    for (const Target &target : assign.targets)
      if (target.ranges) {
        live.insert(numbers.of(target.name));
        forEachOperand(*target.ranges, [&](const Expr &part) { read(part, live); });
      }
    read(*assign.value, live);
  }

  void visit(BasicBlock &block, VariableSet &live, bool record) {
    VariableSet after = record ? live : VariableSet{};
    for (size_t i = block.statements.size(); i-- > 0;)
      visitStatement(*block.statements[i]->as<Assign>(), live);
    if (record)
      describe(block, after);
  }

  void describe(BasicBlock &block, const VariableSet &after) {
    block.inputs.clear();
    VariableSet needed; // what the block alone reads before it writes it
    for (size_t i = block.statements.size(); i-- > 0;)
      visitStatement(*block.statements[i]->as<Assign>(), needed);
    std::set<std::string> seen, outputs, ends;
    auto note = [&](const std::string &name, bool written) {
      size_t number = numbers.of(name);
      if (seen.insert(name).second && needed.contains(number))
        block.inputs.push_back({name, {}});
      if (!after.contains(number))
        ends.insert(name);
      else if (written)
        outputs.insert(name);
    };
    for (const StatementPtr &statement : block.statements)
      noteAll(*statement->as<Assign>(), note);
    block.outputs.assign(outputs.begin(), outputs.end());
    block.lastUses.assign(ends.begin(), ends.end());
  }

  template <typename Note> void noteAll(const Expr &expr, Note note) {
    if (auto *variable = expr.as<Variable>())
      note(variable->name, false);
    else if (auto *index = expr.as<Index>())
      note(index->name, false);
    forEachOperand(expr, [&](const Expr &operand) { noteAll(operand, note); });
  }

  template <typename Note> void noteAll(const Assign &assign, Note note) {
    noteAll(*assign.value, note);
    for (const Target &target : assign.targets) {
      if (target.ranges)
        forEachOperand(*target.ranges, [&](const Expr &part) { noteAll(part, note); });
      note(target.name, true);
    }
  }

  void visit(CallBlock &block, VariableSet &live, bool record) {
    if (record) {
      std::set<std::string> ends;
      for (const Operand &argument : block.arguments)
        if (argument.variable() && !live.contains(numbers.of(*argument.variable())))
          ends.insert(*argument.variable());
      block.lastUses.assign(ends.begin(), ends.end());
    }
    block.wanted.assign(block.results.size(), false);
    for (size_t i = 0; i < block.results.size(); ++i)
      if (!block.results[i].empty()) {
        block.wanted[i] = live.contains(numbers.of(block.results[i]));
        live.erase(numbers.of(block.results[i]));
      }
    // A result that replaces its own argument does not end the name's life.
    for (const std::string &result : block.results)
      std::erase(block.lastUses, result);
    for (const Operand &argument : block.arguments)
      read(argument, live);
  }

  void visit(IfBlock &block, VariableSet &live, bool record) {
    VariableSet otherwise = live;
    list(block.then, live, record);
    list(block.otherwise, otherwise, record);
    live.insertAll(otherwise);
    read(block.condition, live);
  }

  void visit(WhileBlock &block, VariableSet &live, bool record) {
    VariableSet again; // what the body reads first
    list(block.body, again, false);
    live.insertAll(again);
    read(block.condition, live);
    VariableSet top = live;
    list(block.header, top, false);
    if (record) {
      // Behind the header stands the body, behind the body the header.
      VariableSet body = top;
      list(block.body, body, true);
      live.insertAll(body);
      list(block.header, live, true);
    }
    live = std::move(top);
  }

  void visit(ForBlock &block, VariableSet &live, bool record) {
    VariableSet again;
    list(block.body, again, false);
    again.erase(numbers.of(block.variable));
    live.insertAll(again);
    if (record) {
      VariableSet behindBody = live;
      list(block.body, behindBody, true);
    }
    read(block.from, live);
    read(block.to, live);
    if (block.step)
      read(*block.step, live);
    for (const auto &[name, operand] : block.options)
      read(operand, live);
  }

  VariableNumbers numbers;
};

void collect(const BlockList &blocks, std::set<std::string> &names) {
  for (const Block &block : blocks) {
    if (auto *straight = block.as<BasicBlock>()) {
      for (const StatementPtr &statement : straight->statements)
        for (const Target &target : statement->as<Assign>()->targets)
          names.insert(target.name);
    } else if (auto *call = block.as<CallBlock>()) {
      names.insert(call->results.begin(), call->results.end());
    } else if (auto *branch = block.as<IfBlock>()) {
      collect(branch->then, names);
      collect(branch->otherwise, names);
    } else if (auto *loop = block.as<WhileBlock>()) {
      collect(loop->header, names);
      collect(loop->body, names);
    } else if (auto *loop = block.as<ForBlock>()) {
      names.insert(loop->variable);
      collect(loop->body, names);
    }
  }
}

} // namespace

void followUses(Function &function, const std::vector<std::string> &kept) {
  UseFlow().run(function, kept);
}

std::vector<std::string> assignedVariables(const Function &function) {
  std::set<std::string> names;
  collect(function.body, names);
  std::erase_if(names, [](const std::string &name) { return name.empty() || name[0] == '_'; });
  return {names.begin(), names.end()};
}

} // namespace headrace::script
