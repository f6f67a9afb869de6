// Regular expressions in RE2's syntax, matched in time linear in the text: a deterministic
// automaton whose states are made as the text asks for them.
#pragma once

#include "runtime/operators/RegexProgram.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace headrace::operators {

class RegularExpression {
public:
  /// Throws Error if the pattern is malformed, too long, or has back references.
  explicit RegularExpression(std::string_view pattern);

  struct Match {
    size_t begin, length;
  };

private:
  friend class RegexMatcher;

  size_t classOf(wchar_t character) const;

  RegexProgram program;
  /// Where classes of characters begin that the expression does not tell apart.
  std::vector<uint32_t> classes;
};

/// Matches texts one after the other, by one thread. The expression must outlive it.
class RegexMatcher {
public:
  explicit RegexMatcher(const RegularExpression &expression) : expression(expression) {}
  RegexMatcher(RegexMatcher &&) = default;
  RegexMatcher(const RegexMatcher &) = delete;

  /// Whether the expression matches the whole text.
  bool matches(std::wstring_view text);
  /// The first match that begins at `from` or later, the longest of those with that beginning.
  std::optional<RegularExpression::Match> find(std::wstring_view text, size_t from);

private:
  /// What is known of the character before.
  enum class Before { Nothing, LineEnd, Word, Other };

  /// The nodes that matches have come to. One that began earlier stands in an earlier group, and
  /// nodes that it has come to are not those of later ones.
  struct State {
    bool isSearching; // so that matches may still begin
    Before before;
    std::vector<std::vector<int>> groups;
    auto operator<=>(const State &) const = default;
  };

  struct Step {
    int next = -1; // -1: not made yet
    /// The group, counting one that begins here as the last, of which a match ends before the
    /// character; -1: none.
    int matched = -1;
    /// For each group of the next state, the one that it was.
    std::vector<int> origins;
  };

  Before beforeOf(wchar_t character) const;
  bool holds(Anchor anchor, Before before, std::optional<size_t> next) const;
  int stateOf(State state);
  const Step &step(int state, std::optional<size_t> next);
  Step makeStep(const State &from, std::optional<size_t> next, State &to);
  void follow(int node, Before before, std::optional<size_t> next, std::vector<int> &reached,
              bool &isMatch);

  const RegularExpression &expression;
  std::map<State, int> numbers;
  std::vector<const State *> states;
  std::vector<std::vector<Step>> steps; // by state and class, the end of the text last
  Step lastStep;                        // one that is not kept
  std::vector<bool> seen;               // nodes, while a step is made
};

} // namespace headrace::operators
