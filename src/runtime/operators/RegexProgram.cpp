#include "runtime/operators/RegexProgram.h"

#include "runtime/system/Error.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace headrace::operators {

namespace {

/// Nodes from `start` to `end`, a Jump that leads nowhere yet.
struct Fragment {
  int start, end;
};

class Parser {
public:
  explicit Parser(std::wstring_view pattern) : pattern(pattern) {}

  RegexProgram parse() {
    Fragment all = alternatives();
    if (!atEnd())
      refuse("an unexpected )");
    program.nodes[all.end].kind = RegexNode::Match;
    program.start = all.start;
    return std::move(program);
  }

private:
  struct Flags {
    bool ignoresCase = false, dotIsAll = false, isMultiline = false;
  };

  [[noreturn]] static void refuse(const std::string &what) {
    throw Error(ErrorKind::Unsupported, what);
  }

  bool atEnd() const { return at >= pattern.size(); }
  bool isNext(std::wstring_view text) const { return pattern.substr(at).starts_with(text); }
  bool take(std::wstring_view text) {
    if (!isNext(text))
      return false;
    at += text.size();
    return true;
  }
  uint32_t takeAny() {
    if (atEnd())
      refuse("an unexpected end");
    return static_cast<uint32_t>(pattern[at++]);
  }

  int add(RegexNode node) {
    // Bounds the repetitions of repetitions.
    constexpr size_t most = 10'000;
    if (program.nodes.size() >= most)
      refuse("more than " + std::to_string(most) + " states");
    program.nodes.push_back(node);
    return static_cast<int>(program.nodes.size()) - 1;
  }
  Fragment nothing() {
    int jump = add({RegexNode::Jump});
    return {jump, jump};
  }
  Fragment joined(Fragment a, Fragment b) {
    program.nodes[a.end].next = b.start;
    return {a.start, b.end};
  }
  Fragment condition(Anchor anchor) {
    Fragment result = nothing();
    result.start = add({RegexNode::Condition, result.end, -1, 0, anchor});
    return result;
  }
  /// Read once, if a repetition comes back to it.
  Fragment character() {
    auto [found, isNew] = characters.try_emplace({at, flags.ignoresCase, flags.dotIsAll});
    if (isNew) {
      CharacterSet set = someOf();
      program.sets.push_back(flags.ignoresCase ? inBothCases(set) : ordered(set));
      found->second = {program.sets.size() - 1, at};
    }
    at = found->second.end;
    Fragment result = nothing();
    result.start = add({RegexNode::Set, result.end, -1, found->second.set});
    return result;
  }
  Fragment optional(Fragment inner) {
    int end = nothing().end;
    program.nodes[inner.end].next = end;
    return {add({RegexNode::Split, inner.start, end}), end};
  }
  Fragment repeated(Fragment inner) {
    int end = nothing().end, again = add({RegexNode::Split, inner.start, end});
    program.nodes[inner.end].next = again;
    return {again, end};
  }

  Fragment alternatives() {
    constexpr int deepest = 200;
    if (++depth > deepest)
      refuse("more than " + std::to_string(deepest) + " groups inside of each other");
    Flags outside = flags;
    Fragment result = sequence();
    while (take(L"|")) {
      Fragment other = sequence();
      int end = nothing().end;
      program.nodes[result.end].next = program.nodes[other.end].next = end;
      result = {add({RegexNode::Split, result.start, other.start}), end};
    }
    flags = outside;
    --depth;
    return result;
  }

  Fragment sequence() {
    Fragment result = nothing();
    while (!atEnd() && !isNext(L"|") && !isNext(L")"))
      result = joined(result, repetition());
    return result;
  }

  /// What is repeated a number of times is read as often.
  Fragment repetition() {
    size_t begin = at;
    Flags before = flags;
    Fragment inner = atom();
    if (take(L"*"))
      inner = repeated(inner);
    else if (take(L"+"))
      inner = joined(inner, repeated(copyOf(begin, before)));
    else if (take(L"?"))
      inner = optional(inner);
    else if (auto counts = takeCounts())
      inner = counted(inner, *counts, [&] { return copyOf(begin, before); });
    else
      return inner;
    take(L"?"); // as few as possible: the longest match is the same
    if (isNext(L"*") || isNext(L"+") || isNext(L"?") || takeCounts())
      refuse("a repetition of a repetition");
    return inner;
  }

  Fragment copyOf(size_t begin, Flags before) {
    size_t now = at;
    Flags flagsNow = flags;
    at = begin;
    flags = before;
    Fragment copy = atom();
    at = now;
    flags = flagsNow;
    return copy;
  }

  struct Counts {
    int least;
    std::optional<int> most;
  };

  /// {n}, {n,} or {n,m}; anything else is text.
  std::optional<Counts> takeCounts() {
    size_t begin = at;
    auto number = [&]() -> std::optional<int> {
      int value = 0;
      size_t first = at;
      for (; !atEnd() && contains(kDigits, pattern[at]) && at - first < 5; ++at)
        value = value * 10 + static_cast<int>(pattern[at] - '0');
      return at == first ? std::nullopt : std::optional(value);
    };
    if (take(L"{"))
      if (auto least = number()) {
        std::optional<int> most = least;
        if (take(L","))
          most = number();
        if (take(L"}")) {
          constexpr int highest = 1000;
          if (*least > highest || most.value_or(0) > highest || most.value_or(*least) < *least)
            refuse("a number of repetitions above 1000, or a range that ends before it begins");
          return Counts{*least, most};
        }
      }
    at = begin;
    return std::nullopt;
  }

  template <class Copy> Fragment counted(Fragment first, Counts counts, Copy copy) {
    if (counts.most == 0)
      return nothing();
    Fragment result = nothing();
    auto next = [&, isFirst = true]() mutable {
      return std::exchange(isFirst, false) ? first : copy();
    };
    for (int i = 0; i < counts.least; ++i)
      result = joined(result, next());
    if (!counts.most)
      return joined(result, repeated(next()));
    for (int i = counts.least; i < *counts.most; ++i)
      result = joined(result, optional(next()));
    return result;
  }

  Fragment atom() {
    if (take(L"("))
      return group();
    if (take(L"^"))
      return condition(flags.isMultiline ? Anchor::LineBegin : Anchor::TextBegin);
    if (take(L"$"))
      return condition(flags.isMultiline ? Anchor::LineEnd : Anchor::TextEnd);
    if (isNext(L"*") || isNext(L"+") || isNext(L"?"))
      refuse("a repetition of nothing");
    static const std::pair<std::wstring_view, Anchor> anchors[] = {
        {L"\\A", Anchor::TextBegin},
        {L"\\z", Anchor::TextEnd},
        {L"\\b", Anchor::WordBoundary},
        {L"\\B", Anchor::NoWordBoundary}};
    for (const auto &[text, anchor] : anchors)
      if (take(text))
        return condition(anchor);
    return character();
  }

  /// The characters that one is taken from.
  CharacterSet someOf() {
    if (take(L"["))
      return bracketed();
    if (take(L"."))
      return flags.dotIsAll ? complement({}) : complement({{'\n', '\n'}});
    return oneOfClass();
  }

  Fragment group() {
    Flags outside = flags;
    if (take(L"?P<") || (isNext(L"?<") && !isNext(L"?<=") && !isNext(L"?<!") && take(L"?<"))) {
      while (takeAny() != '>')
        ;
    } else if (take(L"?") && !takeFlags()) {
      return nothing(); // (?i): up to the end of the group around
    }
    Fragment inner = alternatives();
    if (!take(L")"))
      refuse("a group without end");
    flags = outside;
    return inner;
  }

  /// Whether a group follows, else the flags stand alone.
  bool takeFlags() {
    for (bool value = true;;)
      switch (takeAny()) {
      case 'i':
        flags.ignoresCase = value;
        break;
      case 's':
        flags.dotIsAll = value;
        break;
      case 'm':
        flags.isMultiline = value;
        break;
      case 'U': // whether repetitions are greedy
        break;
      case '-':
        value = false;
        break;
      case ':':
        return true;
      case ')':
        return false;
      default:
        refuse("a kind of group that is not supported");
      }
  }

  /// The characters that an escape stands for.
  CharacterSet escaped() {
    takeAny();
    uint32_t c = takeAny();
    switch (c) {
    case 'd':
      return kDigits;
    case 'D':
      return complement(kDigits);
    case 's':
      return kSpace;
    case 'S':
      return complement(kSpace);
    case 'w':
      return kWord;
    case 'W':
      return complement(kWord);
    case 'x':
      c = hexadecimal();
      return {{c, c}};
    default:
      break;
    }
    constexpr std::string_view letters = "antrfv0", characters{"\a\n\t\r\f\v\0", 7};
    if (size_t known = letters.find(static_cast<char>(c)); c < 128 && known != letters.npos)
      c = static_cast<unsigned char>(characters[known]);
    else if (isWordCharacter(c) && c != '_')
      refuse(contains(kDigits, c) ? "a back reference"
                                  : std::string("the escape \\") + static_cast<char>(c));
    return {{c, c}};
  }

  uint32_t hexadecimal() {
    bool isBraced = take(L"{");
    uint32_t value = 0;
    auto digit = [&]() -> std::optional<uint32_t> {
      if (atEnd())
        return std::nullopt;
      wchar_t c = pattern[at];
      if (contains(kDigits, c))
        return c - '0';
      wchar_t lower = c | 0x20;
      return lower >= 'a' && lower <= 'f' ? std::optional<uint32_t>(lower - 'a' + 10)
                                          : std::nullopt;
    };
    int count = 0;
    for (; count < (isBraced ? 6 : 2) && digit(); ++count, ++at)
      value = value * 16 + *digit();
    if (count == 0 || (isBraced && !take(L"}")) || value > kLastCharacter)
      refuse("an invalid character number");
    return value;
  }

  /// The characters of a class, after its [.
  CharacterSet bracketed() {
    bool isNegated = take(L"^");
    CharacterSet set;
    for (bool isFirst = true; isFirst || !isNext(L"]"); isFirst = false) {
      if (isNext(L"[:")) {
        appendNamed(set);
        continue;
      }
      CharacterSet low = oneOfClass();
      bool isRange = isNext(L"-") && !isNext(L"-]") && isOne(low);
      if (!isRange) {
        append(set, low);
        continue;
      }
      take(L"-");
      CharacterSet high = oneOfClass();
      if (!isOne(high) || high[0].first < low[0].first)
        refuse("a range of characters that ends before it begins");
      set.emplace_back(low[0].first, high[0].first);
    }
    take(L"]");
    if (!isNegated)
      return set;
    return complement(flags.ignoresCase ? inBothCases(set) : set);
  }

  static bool isOne(const CharacterSet &set) {
    return set.size() == 1 && set[0].first == set[0].second;
  }

  CharacterSet oneOfClass() {
    if (isNext(L"\\"))
      return escaped();
    uint32_t c = takeAny();
    return {{c, c}};
  }

  void appendNamed(CharacterSet &set) {
    take(L"[:");
    bool isNegated = take(L"^");
    size_t end = pattern.find(L":]", at);
    auto named = namedSet(pattern.substr(at, end == pattern.npos ? 0 : end - at));
    if (!named)
      refuse("a name of characters that is not known");
    at = end + 2;
    append(set, isNegated ? complement(*named) : *named);
  }

  std::wstring_view pattern;
  size_t at = 0;
  Flags flags;
  int depth = 0;
  RegexProgram program;
  struct ReadSet {
    size_t set, end;
  };
  /// The sets read so far, by their start in the pattern and the flags that matter.
  std::map<std::tuple<size_t, bool, bool>, ReadSet> characters;
};

} // namespace

RegexProgram parseRegex(std::wstring_view pattern) { return Parser(pattern).parse(); }

} // namespace headrace::operators
