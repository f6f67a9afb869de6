// Terms and rules as tests write them: from text, over operators of any name.
#pragma once

#include "rewrite/egraph/Saturation.h"
#include "rewrite/extract/Extraction.h"
#include "rewrite/rule/Parse.h"
#include "runtime/system/Error.h"

#include <gtest/gtest.h>
#include <random>

namespace headrace::rewrite {

inline std::shared_ptr<const Source> text(std::string contents) {
  return std::make_shared<Source>("test.rules", std::move(contents));
}

class RewriteTest : public testing::Test {
protected:
  Vocabulary vocabulary;
  Terms terms{vocabulary};
  RuleSet rules;
  NoFacts noFacts;

  TermId term(const std::string &contents) { return parseTerm(text(contents), terms, nullptr); }
  std::vector<RuleInstance> rulesOf(const std::string &contents) {
    parseRules(rules, text("level algorithm\n" + contents), vocabulary, nullptr);
    std::vector<RuleInstance> instances;
    for (const Rule &rule : rules)
      instances.push_back({&rule, {}});
    return instances;
  }
};

/// Every node costs 1, or what `costs` says of its name.
class NodeCount : public CostModel {
public:
  double costOf(const EGraph &graph, NodeId node) const override {
    auto found = costs.find(std::string(graph.vocabulary().text(graph.opOf(node).name)));
    return found == costs.end() ? 1 : found->second;
  }
  std::unordered_map<std::string, double> costs;
};

/// The message of the Error that `run` throws; empty if it does not.
template <typename Run> std::string errorOf(Run run) {
  try {
    run();
  } catch (const Error &error) {
    return error.what();
  }
  return {};
}

} // namespace headrace::rewrite
