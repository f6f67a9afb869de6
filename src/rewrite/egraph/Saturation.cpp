#include "rewrite/egraph/Saturation.h"

#include "runtime/system/Error.h"

#include <chrono>

namespace headrace::rewrite {

std::string_view textOf(StopReason reason) {
  switch (reason) {
  case StopReason::Saturated:
    return "nothing new follows";
  case StopReason::Nodes:
    return "the limit of nodes";
  case StopReason::Iterations:
    return "the limit of iterations";
  case StopReason::Seconds:
    return "the limit of seconds";
  }
  return {};
}

namespace {

using Clock = std::chrono::steady_clock;

class Saturator {
public:
  Saturator(EGraph &graph, std::span<const RuleInstance> instances, const Facts &facts,
            const SaturationLimits &limits, Proof *proof)
      : graph(graph), facts(facts), limits(limits), proof(proof) {
    for (const RuleInstance &instance : instances) {
      rules.push_back({Matcher(instance), limits.matches, limits.pause, 0, {}});
      result.uses.push_back({instance.name(graph.vocabulary()), 0, 0});
    }
  }

  Saturation run() {
    graph.rebuild();
    result.reason = loop();
    result.seconds = elapsed();
    return std::move(result);
  }

private:
  struct Scheduled {
    Matcher matcher;
    size_t matchLimit, pause, pausedUntil;
    Searched searched;
  };

  StopReason loop() {
    while (true) {
      if (result.iterations == limits.iterations)
        return StopReason::Iterations;
      if (graph.nodeCount() >= limits.nodes)
        return StopReason::Nodes;
      if (outOfTime())
        return StopReason::Seconds;
      ++result.iterations;
      bool allSearched = true;
      std::vector<std::vector<Match>> matches = searchAll(allSearched);
      if (outOfTime())
        return StopReason::Seconds;
      bool changed = false;
      for (size_t i = 0; i < rules.size(); ++i)
        if (std::optional<StopReason> stopped = apply(i, matches[i], changed)) {
          graph.rebuild();
          return *stopped;
        }
      graph.rebuild();
      if (changed)
        continue;
      if (allSearched)
        return StopReason::Saturated;
      // All that is left to do is paused: go on with it at once.
      for (Scheduled &rule : rules)
        rule.pausedUntil = 0;
    }
  }

  // On one state of the graph, so that the order of rules decides nothing.
  std::vector<std::vector<Match>> searchAll(bool &allSearched) {
    std::vector<std::vector<Match>> matches(rules.size());
    for (size_t i = 0; i < rules.size(); ++i) {
      Scheduled &rule = rules[i];
      if (result.iterations <= rule.pausedUntil) {
        allSearched = false;
        continue;
      }
      matches[i] = rule.matcher.search(
          graph, facts, rule.matchLimit + 1, [this] { return outOfTime(); }, rule.searched);
      size_t count = rule.searched.known + matches[i].size();
      if (count > rule.matchLimit) {
        matches[i].clear();
        rule.pausedUntil = result.iterations + rule.pause;
        rule.pause *= 2;
        rule.matchLimit *= 2;
        allSearched = false;
        continue;
      }
      rule.searched.since = graph.epoch();
      result.uses[i].matches += count;
    }
    return matches;
  }

  std::optional<StopReason> apply(size_t index, std::span<const Match> matches, bool &changed) {
    const Rule &rule = *rules[index].matcher.instance().rule;
    size_t applied = 0;
    for (const Match &match : matches) {
      if (graph.nodeCount() >= limits.nodes)
        return StopReason::Nodes;
      if ((++applied & 0xff) == 0 && outOfTime())
        return StopReason::Seconds;
      auto operators = rightOperators(rule, match.bindings, facts, graph.vocabulary());
      if (!operators)
        continue;
      try {
        ClassId made = buildRight(rule, match.bindings, *operators,
                                  [this](OperatorId op, std::span<const uint32_t> operands) {
                                    return graph.add(op, operands);
                                  });
        if (graph.find(match.root) == graph.find(made))
          continue;
        if (proof)
          proof->applied(graph, static_cast<uint32_t>(index), rules[index].matcher, match,
                         *operators);
        graph.merge(match.root, made);
        changed = true;
        ++result.uses[index].merges;
      } catch (const Error &error) { // an analysis found a contradiction
        throw Error(error.kind(),
                    rule.place.text() + ": rule '" + rule.name + "': " + error.what());
      }
    }
    return {};
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  bool outOfTime() const { return elapsed() > limits.seconds; }

  EGraph &graph;
  const Facts &facts;
  SaturationLimits limits;
  Proof *proof;
  Clock::time_point start = Clock::now();
  std::vector<Scheduled> rules;
  Saturation result;
};

} // namespace

Saturation saturate(EGraph &graph, std::span<const RuleInstance> rules, const Facts &facts,
                    const SaturationLimits &limits, Proof *proof) {
  return Saturator(graph, rules, facts, limits, proof).run();
}

} // namespace headrace::rewrite
