// Functions of a frame's columns that SystemDS's library calls through map: patterns of texts, and
// exponential smoothing of series with gaps.
#include "script/host/ColumnFunctions.h"

#include "script/host/Value.h"
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

namespace headrace::script {

// --- Texts that do not follow their column's pattern -------------------------------------------

namespace {

using Pattern = std::string;

char classOf(char c) {
  auto letter = static_cast<unsigned char>(c);
  if (std::isdigit(letter))
    return 'd';
  if (std::isalpha(letter))
    return std::islower(letter) ? 'l' : 'u';
  return c == ' ' ? 's' : c == '.' ? 't' : c == '-' ? '-' : 'y';
}

/// "Graz 12"  ->  "u1l3s1d2"
Pattern classes(const std::string &text) {
  Pattern pattern;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && classOf(text[end]) == classOf(text[i]))
      ++end;
    pattern += classOf(text[i]) + std::to_string(end - i);
    i = end;
  }
  return pattern;
}

/// Without lengths: every digit of one is a '+'.
Pattern withoutLengths(Pattern pattern) {
  std::ranges::replace_if(pattern, [](unsigned char c) { return std::isdigit(c); }, '+');
  return pattern;
}

/// Capitals and small letters are letters.
Pattern withoutCase(const Pattern &pattern) {
  Pattern result;
  bool letters = false;
  for (char c : pattern) {
    bool letter = c == 'u' || c == 'l';
    if (letter ? !letters : c != '+' || !result.ends_with('+'))
      result += letter ? 'a' : c;
    letters = letter || (letters && c == '+');
  }
  return result;
}

/// A run of `outer` may have `inner` within it: dots in numbers, spaces between words.
Pattern withInner(const Pattern &pattern, char outer, char inner) {
  Pattern result;
  bool within = false;
  for (char c : pattern) {
    if (within && (c == outer || c == inner))
      continue;
    bool separates = c == inner || c == '+';
    within = c == outer || (within && separates);
    if (!separates || (!result.empty() && !result.ends_with('+')))
      result += c;
  }
  return result;
}

/// "-d"  ->  "d"
Pattern withoutSigns(const Pattern &pattern) {
  Pattern result;
  for (size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] != '-' || i + 1 == pattern.size() || pattern[i + 1] != 'd')
      result += pattern[i];
  return result;
}

/// Patterns of a text, from the finest to the coarsest.
std::array<Pattern, 6> patternsOf(const std::string &text) {
  std::array<Pattern, 6> levels;
  levels[0] = classes(text);
  levels[1] = withoutLengths(levels[0]);
  levels[2] = withoutCase(levels[1]);
  levels[3] = withInner(levels[2], 'd', 't');
  levels[4] = withInner(levels[3], 'a', 's');
  levels[5] = withoutSigns(levels[4]);
  return levels;
}

} // namespace

Frame withoutDisguisedValues(Frame frame, double threshold, const std::string &instead) {
  for (FrameColumn &column : frame.columns) {
    std::vector<std::array<Pattern, 6>> patterns;
    for (const FrameCell &cell : column.cells)
      patterns.push_back(patternsOf(cell.value_or("NULL")));
    for (size_t level = 0; level < 6; ++level) {
      std::map<Pattern, int64_t> counts;
      for (const auto &levels : patterns)
        ++counts[levels[level]];
      auto dominant = std::ranges::find_if(counts, [&](const auto &entry) {
        return static_cast<double>(entry.second) > threshold * static_cast<double>(frame.rows);
      });
      if (dominant == counts.end())
        continue;
      for (size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i][level] != dominant->first)
          column.cells[i] = instead;
      break;
    }
  }
  return frame;
}

// --- Smoothing ---------------------------------------------------------------------------------

static std::vector<double> singleSmoothing(const std::vector<double> &data, double alpha) {
  std::vector<double> fitted{data[0]};
  for (size_t i = 1; i < data.size(); ++i) {
    double value = std::isnan(data[i]) ? fitted[i - 1] : data[i];
    fitted.push_back(alpha * value + (1 - alpha) * fitted[i - 1]);
  }
  return fitted;
}

static std::vector<double> doubleSmoothing(const std::vector<double> &data, double alpha,
                                           double beta) {
  double level = data[1], trend = data[1] - data[0];
  std::vector<double> fitted{data[0], level + trend};
  for (size_t i = 2; i < data.size(); ++i) {
    double value = std::isnan(data[i]) ? fitted.back() : data[i], before = level;
    level = alpha * value + (1 - alpha) * (level + trend);
    trend = beta * (level - before) + (1 - beta) * trend;
    fitted.push_back(level + trend);
  }
  return fitted;
}

Frame smoothed(const Frame &frame, const Smoothing &how) {
  Frame result{frame.rows, {}};
  for (const FrameColumn &column : frame.columns) {
    std::vector<double> data;
    for (const FrameCell &cell : column.cells)
      data.push_back(numberOf(cell));
    if (data.size() < 2)
      throw Error(ErrorKind::InvalidArgument,
                  "map: expected a series of 2 or more values, got " + std::to_string(data.size()));
    std::vector<double> fitted = how.mode == "double" ? doubleSmoothing(data, how.alpha, how.beta)
                                                      : singleSmoothing(data, how.alpha);
    result.columns.push_back({column.name, ColumnType::Fp64, {}});
    for (double value : fitted)
      result.columns.back().cells.emplace_back(numberText(value));
  }
  return result;
}

} // namespace headrace::script
