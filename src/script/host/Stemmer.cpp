// The stemmer of M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980).
#include "script/host/Stemmer.h"

#include <span>
#include <string_view>

namespace headrace::script {

namespace {

class Stemmer {
public:
  explicit Stemmer(std::string word) : word(std::move(word)) {}

  std::string run() {
    if (word.size() < 3)
      return word;
    dropPlural();
    dropPast();
    if (endsWith("y") && hasVowel(word.size() - 1))
      word.back() = 'i';
    replaceFirst(kDouble, 0);
    replaceFirst(kSingle, 0);
    dropLast();
    tidy();
    return word;
  }

private:
  struct Rule {
    std::string_view from, to;
  };
  static constexpr Rule kDouble[] = {
      {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
      {"izer", "ize"},    {"abli", "able"},   {"alli", "al"},     {"entli", "ent"},
      {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
      {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
      {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"}};
  static constexpr Rule kSingle[] = {{"icate", "ic"}, {"ative", ""},  {"alize", "al"},
                                     {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""},
                                     {"ness", ""}};
  static constexpr std::string_view kLast[] = {"al",   "ance", "ence",  "er",   "ic",  "able",
                                               "ible", "ant",  "ement", "ment", "ent", "ou",
                                               "ism",  "ate",  "iti",   "ous",  "ive", "ize"};

  bool endsWith(std::string_view suffix) const { return word.ends_with(suffix); }

  bool isConsonant(size_t at) const {
    char c = word[at];
    if (c == 'y')
      return at == 0 || !isConsonant(at - 1);
    return std::string_view("aeiou").find(c) == std::string_view::npos;
  }
  bool hasVowel(size_t length) const {
    for (size_t i = 0; i < length; ++i)
      if (!isConsonant(i))
        return true;
    return false;
  }
  /// How often vowels are followed by consonants in the first characters.
  int measure(size_t length) const {
    int count = 0;
    for (size_t i = 1; i < length; ++i)
      count += isConsonant(i) && !isConsonant(i - 1);
    return count;
  }
  bool endsInDouble() const {
    size_t n = word.size();
    return n >= 2 && word[n - 1] == word[n - 2] && isConsonant(n - 1);
  }
  /// Consonant, vowel, consonant that is not w, x or y: hop, but not snow.
  bool isShort(size_t length) const {
    return length >= 3 && isConsonant(length - 1) && !isConsonant(length - 2) &&
           isConsonant(length - 3) &&
           std::string_view("wxy").find(word[length - 1]) == std::string_view::npos;
  }

  void dropPlural() {
    if (endsWith("sses") || endsWith("ies"))
      word.resize(word.size() - 2);
    else if (endsWith("s") && !endsWith("ss"))
      word.pop_back();
  }

  void dropPast() {
    if (endsWith("eed")) {
      if (measure(word.size() - 3) > 0)
        word.pop_back();
      return;
    }
    size_t suffix = endsWith("ed") ? 2 : endsWith("ing") ? 3 : 0;
    if (suffix == 0 || !hasVowel(word.size() - suffix))
      return;
    word.resize(word.size() - suffix);
    bool single = std::string_view("lsz").find(word.back()) == std::string_view::npos;
    if (endsWith("at") || endsWith("bl") || endsWith("iz"))
      word += 'e';
    else if (endsInDouble() && single)
      word.pop_back();
    else if (measure(word.size()) == 1 && isShort(word.size()))
      word += 'e';
  }

  /// The first suffix that the word has, if what stands before it is long enough.
  void replaceFirst(std::span<const Rule> rules, int least) {
    for (const Rule &rule : rules)
      if (endsWith(rule.from)) {
        size_t stem = word.size() - rule.from.size();
        if (measure(stem) > least)
          word = word.substr(0, stem) + std::string(rule.to);
        return;
      }
  }

  void dropLast() {
    if (endsWith("ion") && word.size() > 3) {
      size_t stem = word.size() - 3;
      if (measure(stem) > 1 && (word[stem - 1] == 's' || word[stem - 1] == 't'))
        word.resize(stem);
      return;
    }
    for (std::string_view suffix : kLast)
      if (endsWith(suffix)) {
        if (measure(word.size() - suffix.size()) > 1)
          word.resize(word.size() - suffix.size());
        return;
      }
  }

  void tidy() {
    if (endsWith("e")) {
      size_t stem = word.size() - 1;
      int count = measure(stem);
      if (count > 1 || (count == 1 && !isShort(stem)))
        word.pop_back();
    }
    if (endsWith("l") && endsInDouble() && measure(word.size()) > 1)
      word.pop_back();
  }

  std::string word;
};

} // namespace

std::string stemOf(const std::string &word) { return Stemmer(word).run(); }

} // namespace headrace::script
