#include "target/vta/schedule/Schedule.h"

#include "runtime/system/Error.h"
#include "runtime/system/Listing.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace headrace::vta {

namespace {

constexpr std::array<std::string_view, 5> alongNames = {"in", "out", "batch", "rows", "columns"};
constexpr std::array<std::string_view, 2> keepNames = {"weights", "inputs"};
constexpr std::array<std::pair<std::string_view, int64_t Schedule::*>, 5> tileSizes = {
    {{"batch", &Schedule::batch},
     {"rows", &Schedule::rows},
     {"columns", &Schedule::columns},
     {"out", &Schedule::out},
     {"in", &Schedule::in}}};

bool multiplies(const Operator &op) { return std::holds_alternative<Convolution>(op.core); }

/// The steps that no number is in, as they follow from what the operator is.
std::vector<std::string> fixedSteps(const Operator &op) {
  if (multiplies(op))
    return {"cache_read x in inp", "cache_read w in wgt", "cache_write y in acc", "tensorize gemm"};
  return {"cache_read x in acc", "cache_write y in acc", "tensorize alu"};
}

std::vector<std::string_view> wordsOf(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (size_t begin = 0;;) {
    begin = line.find_first_not_of(" \t\r", begin);
    if (begin == std::string_view::npos)
      return words;
    size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
}

/// Reads the lines one by one; what is wrong is told with its line.
class ScheduleReader {
public:
  explicit ScheduleReader(const Operator &op) : op(op) {
    for (std::string &step : fixedSteps(op))
      missing.insert(std::move(step));
    missing.insert("tile");
  }

  Schedule read(std::string_view text) {
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      ++line;
      if (std::vector<std::string_view> words = wordsOf(text.substr(begin, end - begin));
          !words.empty())
        readStep(words);
      begin = end + 1;
    }
    if (!missing.empty())
      throw Error(ErrorKind::InvalidArgument, "the schedule of " + inQuotes(op.name) +
                                                  " has no step " + inQuotes(*missing.begin()));
    return schedule;
  }

private:
  [[noreturn]] void fail(const std::string &reason) const {
    throw Error(ErrorKind::InvalidArgument, "line " + std::to_string(line) +
                                                " of the schedule of " + inQuotes(op.name) + ": " +
                                                reason);
  }

  void readStep(const std::vector<std::string_view> &words) {
    std::string step;
    for (std::string_view word : words)
      step += (step.empty() ? "" : " ") + std::string(word);
    std::string kind(words[0]);
    bool hasNumbers = kind == "tile" || kind == "keep" || kind == "vthread";
    if (!seen.insert(hasNumbers ? kind : step).second)
      fail("a second step " + inQuotes(hasNumbers ? kind : step));
    missing.erase(hasNumbers ? kind : step);
    if (kind == "tile")
      return readTile(words);
    if (kind == "keep")
      return readKeep(words);
    if (kind == "vthread")
      return readThreads(words);
    std::vector<std::string> fixed = fixedSteps(op);
    if (std::ranges::find(fixed, step) != fixed.end())
      return;
    std::string expected;
    for (const std::string &name : fixed)
      expected += inQuotes(name) + ", ";
    fail("expected " + expected + "'tile', 'keep' or 'vthread', got " + inQuotes(step));
  }

  int64_t number(std::string_view text) const {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1)
      fail("expected a number from 1 on, got " + inQuotes(text));
    return value;
  }

  void readTile(const std::vector<std::string_view> &words) {
    std::set<std::string_view> given;
    for (size_t i = 1; i < words.size(); ++i) {
      std::string_view name = words[i].substr(0, words[i].find('='));
      auto size = std::ranges::find(tileSizes, name, &decltype(tileSizes)::value_type::first);
      if (name.size() == words[i].size() || size == tileSizes.end())
        fail("expected batch=, rows=, columns=, out= or in= and a number, got " +
             inQuotes(words[i]));
      if (size->second == &Schedule::in && !multiplies(op))
        fail("the operator does not reduce input channels: a tile has no 'in'");
      if (!given.insert(name).second)
        fail("a second " + inQuotes(name));
      schedule.*size->second = number(words[i].substr(name.size() + 1));
    }
  }

  void readKeep(const std::vector<std::string_view> &words) {
    auto found = words.size() == 2 ? std::ranges::find(keepNames, words[1]) : keepNames.end();
    if (found == keepNames.end())
      fail("expected 'keep' and " + listed(keepNames));
    schedule.keep = static_cast<Schedule::Keep>(found - keepNames.begin());
  }

  void readThreads(const std::vector<std::string_view> &words) {
    if (words.size() == 2 && words[1] == "1")
      return;
    auto found = words.size() == 4 && words[1] == "2" && words[2] == "along"
                     ? std::ranges::find(alongNames, words[3])
                     : alongNames.end();
    if (found == alongNames.end())
      fail("expected 'vthread 1' or 'vthread 2 along' and " + listed(alongNames));
    schedule.threads = 2;
    schedule.along = static_cast<Schedule::Along>(found - alongNames.begin());
  }

  const Operator &op;
  Schedule schedule;
  std::set<std::string, std::less<>> missing, seen;
  int line = 0;
};

} // namespace

std::vector<std::string_view> Schedule::parameterNames() {
  return {"batch", "rows", "columns", "out", "in", "threads", "along", "keep"};
}

int64_t Schedule::parameter(std::string_view name) const {
  if (name == "threads")
    return threads;
  if (name == "along")
    return static_cast<int64_t>(along);
  if (name == "keep")
    return static_cast<int64_t>(keep);
  for (auto [size, member] : tileSizes)
    if (size == name)
      return this->*member;
  throw Error(ErrorKind::InvalidArgument, "a schedule has no parameter " + inQuotes(name));
}

void Schedule::setParameter(std::string_view name, int64_t value) {
  auto check = [&](int64_t end) {
    if (value < 0 || value >= end)
      throw Error(ErrorKind::InvalidArgument,
                  "parameter " + inQuotes(name) + ": expected a number below " +
                      std::to_string(end) + ", got " + std::to_string(value));
  };
  if (name == "threads") {
    threads = value;
  } else if (name == "along") {
    check(alongNames.size());
    along = static_cast<Along>(value);
  } else if (name == "keep") {
    check(keepNames.size());
    keep = static_cast<Keep>(value);
  } else {
    parameter(name); // throws if there is none
    for (auto [size, member] : tileSizes)
      if (size == name)
        this->*member = value;
  }
}

ScheduleRecord Schedule::record() const {
  ScheduleRecord record{"tile", {}};
  for (std::string_view name : parameterNames())
    record.parameters.emplace_back(name, parameter(name));
  return record;
}

Schedule Schedule::of(const ScheduleRecord &record) {
  Schedule schedule;
  for (const auto &[name, value] : record.parameters)
    schedule.setParameter(name, value);
  return schedule;
}

std::string textOf(const Schedule &schedule, const Operator &op) {
  std::string text = "tile";
  for (auto [name, member] : tileSizes)
    if (multiplies(op) || member != &Schedule::in)
      text += " " + std::string(name) + "=" + std::to_string(schedule.*member);
  text += "\n";
  text += "keep " + std::string(keepNames[static_cast<size_t>(schedule.keep)]) + "\n";
  for (const std::string &step : fixedSteps(op))
    text += step + "\n";
  text += "vthread " + std::to_string(schedule.threads);
  if (schedule.threads > 1)
    text += " along " + std::string(alongNames[static_cast<size_t>(schedule.along)]);
  return text + "\n";
}

Schedule parseSchedule(std::string_view text, const Operator &op) {
  return ScheduleReader(op).read(text);
}

} // namespace headrace::vta
