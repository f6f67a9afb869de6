#include "script/plan/SizePropagation.h"

#include "script/graph/DagBuilder.h"
#include "script/plan/SparsePlan.h"
#include <algorithm>
#include <utility>

namespace headrace::script {

namespace {

using State = std::map<std::string, Known>;

// Functions within functions that are followed.
constexpr int kDeepest = 16;

Size meet(const Size &a, const Size &b) { return sameSize(a, b) ? a : Size(); }

Known meet(const Known &a, const Known &b) {
  Known both;
  if (a.type.data == b.type.data)
    both.type = {a.type.data, a.type.value == b.type.value ? a.type.value : ValueType::Unknown};
  both.rows = meet(a.rows, b.rows);
  both.cols = meet(a.cols, b.cols);
  both.value = meet(a.value, b.value);
  both.sparse = a.sparse && b.sparse;
  if (a.density && b.density)
    both.density = std::max(*a.density, *b.density);
  return both;
}

State meet(const State &a, const State &b) {
  State both;
  for (const auto &[name, known] : a)
    if (auto other = b.find(name); other != b.end())
      both[name] = meet(known, other->second);
  return both;
}

bool same(const Size &a, const Size &b) {
  return a.known() == b.known() && (!a.known() || sameSize(a, b));
}

bool same(const State &a, const State &b) {
  return std::ranges::equal(a, b, [](const auto &x, const auto &y) {
    return x.first == y.first && x.second.type == y.second.type &&
           same(x.second.rows, y.second.rows) && same(x.second.cols, y.second.cols) &&
           same(x.second.value, y.second.value) && x.second.sparse == y.second.sparse &&
           x.second.density == y.second.density;
  });
}

class Propagation {
public:
  std::string text;

  void walk(const BlockList &blocks, State &state) {
    for (const Block &block : blocks)
      walk(block, state);
  }

private:
  void walk(const Block &block, State &state);
  void walk(const BasicBlock &block, SourceLocation place, State &state);
  void walk(const CallBlock &call, SourceLocation place, State &state);
  template <class Body> void aroundLoop(State &state, Body body);
  void say(const std::string &line) {
    if (!quiet)
      text += std::string(2 * level, ' ') + line + "\n";
  }
  Known known(const Operand &operand, const State &state) const;

  int level = 0, depth = 0;
  bool quiet = false;
};

void Propagation::walk(const BasicBlock &block, SourceLocation place, State &state) {
  DagOptions options;
  options.variable = [&](const std::string &name) -> const Known * {
    auto found = state.find(name);
    return found == state.end() ? nullptr : &found->second;
  };
  options.executes = [](const std::string &) { return true; };
  try {
    Dag dag = buildDag(block.statements, 0, options);
    markSparse(dag, {});
    say("block at " + place.text());
    if (!quiet)
      text += print(dag, std::string(2 * level + 2, ' '));
    for (const auto &[name, node] : dag.assigned)
      state[name] = dag.nodes[node].known;
  } catch (const Error &) {
    // The error is raised when, and if, the block runs.
    for (const StatementPtr &statement : block.statements)
      for (const Target &target : statement->as<Assign>()->targets)
        state[target.name] = {};
  }
}

/// The state before the loop meets the one after its body until they agree.
template <class Body> void Propagation::aroundLoop(State &state, Body body) {
  bool outer = std::exchange(quiet, true);
  while (true) {
    State after = state;
    body(after);
    State both = meet(state, after);
    bool stable = same(both, state);
    state = std::move(both);
    if (stable)
      break;
  }
  quiet = outer;
  State last = state;
  ++level;
  body(last);
  --level;
  state = meet(state, last);
}

Known Propagation::known(const Operand &operand, const State &state) const {
  if (auto *name = operand.variable()) {
    auto found = state.find(*name);
    return found == state.end() ? Known{} : found->second;
  }
  Known known;
  const LiteralValue &literal = *operand.literal();
  static constexpr ValueType types[] = {ValueType::Integer, ValueType::Double, ValueType::Boolean,
                                        ValueType::String};
  known.type = Type::scalar(types[literal.index()]);
  if (auto *whole = std::get_if<int64_t>(&literal))
    known.value = *whole;
  return known;
}

void Propagation::walk(const CallBlock &call, SourceLocation place, State &state) {
  const FunctionDefinition &definition = *call.callee->definition;
  State inner;
  for (size_t i = 0; i < call.arguments.size(); ++i)
    inner[definition.inputs[i].name] = known(call.arguments[i], state);
  bool follow = depth < kDeepest && !definition.external;
  if (follow) {
    say("call of " + definition.name + " at " + place.text());
    ++level;
    ++depth;
    walk(call.callee->body, inner);
    --depth;
    --level;
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (call.results[i].empty())
      continue;
    auto found = inner.find(definition.outputs[i].name);
    Known result;
    result.type = definition.outputs[i].type;
    state[call.results[i]] = follow && found != inner.end() ? found->second : result;
  }
}

void Propagation::walk(const Block &block, State &state) {
  if (auto *straight = block.as<BasicBlock>()) {
    walk(*straight, block.place, state);
  } else if (auto *call = block.as<CallBlock>()) {
    walk(*call, block.place, state);
  } else if (auto *choice = block.as<IfBlock>()) {
    State otherwise = state;
    say("if at " + block.place.text());
    ++level;
    walk(choice->then, state);
    --level;
    if (!choice->otherwise.empty())
      say("else");
    ++level;
    walk(choice->otherwise, otherwise);
    --level;
    state = meet(state, otherwise);
  } else if (auto *loop = block.as<WhileBlock>()) {
    say("while at " + block.place.text());
    aroundLoop(state, [&](State &inner) {
      walk(loop->header, inner);
      walk(loop->body, inner);
    });
  } else if (auto *loop = block.as<ForBlock>()) {
    say("for at " + block.place.text());
    aroundLoop(state, [&](State &inner) {
      Known counter;
      counter.type = Type::scalar(ValueType::Integer);
      inner[loop->variable] = counter;
      walk(loop->body, inner);
    });
  }
}

} // namespace

std::string graphsWithKnownSizes(const Program &program, State variables) {
  Propagation propagation;
  propagation.walk(program.main.body, variables);
  return propagation.text;
}

} // namespace headrace::script
