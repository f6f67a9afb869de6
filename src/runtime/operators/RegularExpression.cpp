#include "runtime/operators/RegularExpression.h"

#include "runtime/operators/Characters.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

#include <algorithm>

namespace headrace::operators {

RegularExpression::RegularExpression(std::string_view pattern) {
  constexpr size_t longestPattern = 1000;
  auto refuse = [&](const std::string &what) {
    throw Error(ErrorKind::Unsupported,
                "expected a regular expression without back references of at most " +
                    std::to_string(longestPattern) + " characters, got " + what + " in " +
                    inQuotes(pattern));
  };
  if (pattern.size() > longestPattern)
    refuse(std::to_string(pattern.size()) + " characters");
  try {
    program = parseRegex(toCharacters(pattern));
  } catch (const Error &error) {
    refuse(error.what());
  }
  // Anchors ask for words and for ends of lines.
  std::vector<CharacterSet> sets = program.sets;
  sets.push_back({{'\n', '\n'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  classes = {0};
  for (const CharacterSet &set : sets)
    for (auto [low, high] : set) {
      classes.push_back(low);
      classes.push_back(high + 1);
    }
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
}

size_t RegularExpression::classOf(wchar_t character) const {
  auto after = std::upper_bound(classes.begin(), classes.end(), static_cast<uint32_t>(character));
  return after - classes.begin() - 1;
}

RegexMatcher::Before RegexMatcher::beforeOf(wchar_t character) const {
  if (character == '\n')
    return Before::LineEnd;
  return isWordCharacter(static_cast<uint32_t>(character)) ? Before::Word : Before::Other;
}

/// `next` is the class of the character that follows; nothing at the end of the text.
bool RegexMatcher::holds(Anchor anchor, Before before, std::optional<size_t> next) const {
  uint32_t first = next ? expression.classes[*next] : 0;
  bool isBoundary = (before == Before::Word) != (next && isWordCharacter(first));
  switch (anchor) {
  case Anchor::TextBegin:
    return before == Before::Nothing;
  case Anchor::TextEnd:
    return !next;
  case Anchor::LineBegin:
    return before == Before::Nothing || before == Before::LineEnd;
  case Anchor::LineEnd:
    return !next || first == '\n';
  case Anchor::WordBoundary:
    return isBoundary;
  case Anchor::NoWordBoundary:
    return !isBoundary;
  }
  throw InternalError("unknown kind of anchor");
}

int RegexMatcher::stateOf(State state) {
  // A state has as many steps as there are classes.
  constexpr size_t maxSteps = size_t(1) << 16;
  size_t width = expression.classes.size() + 1;
  if (states.size() * width > maxSteps && !numbers.contains(state)) {
    numbers.clear();
    states.clear();
    steps.clear();
  }
  auto [found, isNew] = numbers.try_emplace(std::move(state), static_cast<int>(states.size()));
  if (isNew) {
    states.push_back(&found->first);
    steps.emplace_back(width);
  }
  return found->second;
}

/// The nodes behind a node that read a character of the class, or that the text ends at.
void RegexMatcher::follow(int node, Before before, std::optional<size_t> next,
                          std::vector<int> &reached, bool &isMatch) {
  std::vector<int> open{node};
  while (!open.empty()) {
    int at = open.back();
    open.pop_back();
    if (seen[at])
      continue;
    seen[at] = true;
    const RegexNode &now = expression.program.nodes[at];
    switch (now.kind) {
    case RegexNode::Match:
      isMatch = true;
      break;
    case RegexNode::Split:
      open.push_back(now.other);
      open.push_back(now.next);
      break;
    case RegexNode::Jump:
      open.push_back(now.next);
      break;
    case RegexNode::Condition:
      if (holds(now.anchor, before, next))
        open.push_back(now.next);
      break;
    case RegexNode::Set:
      if (next && contains(expression.program.sets[now.set], expression.classes[*next]))
        reached.push_back(now.next);
      break;
    }
  }
}

RegexMatcher::Step RegexMatcher::makeStep(const State &from, std::optional<size_t> next,
                                          State &to) {
  seen.assign(expression.program.nodes.size(), false);
  std::vector<std::vector<int>> groups = from.groups;
  if (from.isSearching)
    groups.push_back({expression.program.start});
  Step step;
  for (size_t i = 0; i < groups.size() && step.matched < 0; ++i) {
    bool isMatch = false;
    std::vector<int> reached;
    for (int node : groups[i])
      follow(node, from.before, next, reached, isMatch);
    if (isMatch)
      step.matched = static_cast<int>(i); // what began later is no longer the first match
    if (reached.empty())
      continue;
    std::sort(reached.begin(), reached.end());
    to.groups.push_back(std::move(reached));
    step.origins.push_back(static_cast<int>(i));
  }
  to.isSearching = from.isSearching && step.matched < 0;
  to.before = next ? beforeOf(static_cast<wchar_t>(expression.classes[*next])) : from.before;
  return step;
}

/// Valid until the next call.
const RegexMatcher::Step &RegexMatcher::step(int state, std::optional<size_t> next) {
  size_t column = next.value_or(expression.classes.size());
  if (steps[state][column].next >= 0)
    return steps[state][column];
  State to;
  Step made = makeStep(*states[state], next, to);
  size_t before = states.size();
  made.next = stateOf(std::move(to));
  // If all states were let go, this one was among them.
  Step &kept = states.size() < before ? lastStep : steps[state][column];
  kept = std::move(made);
  return kept;
}

bool RegexMatcher::matches(std::wstring_view text) {
  int state = stateOf({false, Before::Nothing, {{expression.program.start}}});
  for (wchar_t character : text) {
    state = step(state, expression.classOf(character)).next;
    if (states[state]->groups.empty())
      return false;
  }
  return step(state, std::nullopt).matched >= 0;
}

std::optional<RegularExpression::Match> RegexMatcher::find(std::wstring_view text, size_t from) {
  if (from > text.size())
    return std::nullopt;
  int state = stateOf({true, from == 0 ? Before::Nothing : beforeOf(text[from - 1]), {}});
  std::vector<size_t> begins, next; // of the state's groups
  std::optional<RegularExpression::Match> best;
  for (size_t i = from; i <= text.size(); ++i) {
    if (i % 4096 == 0)
      pollInterruption();
    bool isEnd = i == text.size();
    const Step &now =
        step(state, isEnd ? std::nullopt : std::optional(expression.classOf(text[i])));
    auto beginOf = [&](int group) {
      return static_cast<size_t>(group) < begins.size() ? begins[group] : i;
    };
    if (now.matched >= 0)
      best = {beginOf(now.matched), i - beginOf(now.matched)};
    next.clear();
    for (int origin : now.origins)
      next.push_back(beginOf(origin));
    std::swap(begins, next);
    state = now.next;
    if (!states[state]->isSearching && begins.empty())
      break;
  }
  return best;
}

} // namespace headrace::operators
