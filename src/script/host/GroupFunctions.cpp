// Distinct values, and aggregates of groups of rows.
#include "script/host/HashedOrder.h"
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace headrace::script {

namespace {

// --- Distinct values ---------------------------------------------------------------------------

/// Equal as keys: NaN is itself.
struct SameKey {
  bool operator()(double a, double b) const { return a == b || (std::isnan(a) && std::isnan(b)); }
};
struct KeyHash {
  size_t operator()(double a) const { return javaHash(a == 0 ? 0.0 : a) * 0x9E3779B97F4A7C15U; }
};
using Keys = std::unordered_set<double, KeyHash, SameKey>;

enum class Direction { All, Rows, Columns };

Direction directionOf(const HostCall &call, size_t argument) {
  std::string text = call.text(argument, "rc");
  if (text == "rc")
    return Direction::All;
  if (text == "r")
    return Direction::Rows;
  if (text == "c")
    return Direction::Columns;
  call.fail("expected the direction \"r\", \"c\" or \"rc\", got \"" + text + "\"");
}

/// The cells that belong together: all, or those of a row or a column.
std::vector<double> partOf(const Tensor &x, Direction direction, int64_t part) {
  int64_t rows = x.shape()[0], cols = x.shape()[1];
  const double *cells = x.as<double>();
  std::vector<double> result;
  if (direction == Direction::All)
    result.assign(cells, cells + x.elements());
  for (int64_t j = 0; direction == Direction::Rows && j < cols; ++j)
    result.push_back(cells[part * cols + j]);
  for (int64_t i = 0; direction == Direction::Columns && i < rows; ++i)
    result.push_back(cells[i * cols + part]);
  return result;
}

int64_t partsOf(const Tensor &x, Direction direction) {
  return direction == Direction::All ? 1 : x.shape()[direction == Direction::Columns];
}

/// Each value once, as it first occurs.
std::vector<double> distinct(const std::vector<double> &values) {
  Keys seen;
  std::vector<double> result;
  for (double value : values)
    if (seen.insert(value).second)
      result.push_back(value);
  return result;
}

/// unique(data, dir): in the order in which SystemDS's table gives the values; the rest of a row or
/// column with fewer values than others is 0.
Value unique(HostCall &call) {
  Tensor x = call.dense(0);
  Direction direction = directionOf(call, 1);
  std::vector<std::vector<double>> parts;
  HashedOrder order;
  size_t most = 0;
  auto hashes = [](const std::vector<double> &part) {
    std::vector<uint32_t> result;
    std::ranges::transform(part, std::back_inserter(result), [](double v) { return javaHash(v); });
    return result;
  };
  for (int64_t part = 0; part < partsOf(x, direction); ++part) {
    parts.push_back(distinct(partOf(x, direction, part)));
    most = std::max(most, parts.back().size());
    order(hashes(parts.back())); // one table serves all parts, as large as they make it
  }
  for (std::vector<double> &part : parts) {
    std::vector<double> ordered;
    for (size_t at : order(hashes(part)))
      ordered.push_back(part[at]);
    part = std::move(ordered);
  }
  auto count = static_cast<int64_t>(parts.size()), longest = static_cast<int64_t>(most);
  bool below = direction == Direction::Rows;
  Tensor result = below ? filled(0, count, longest) : filled(0, longest, count);
  for (int64_t part = 0; part < count; ++part)
    for (size_t i = 0; i < parts[part].size(); ++i)
      result.as<double>()[below ? part * longest + i : i * count + part] = parts[part][i];
  return result;
}

/// Without collecting the cells that are not stored.
int64_t countDistinctCells(const Matrix &x) {
  Keys seen;
  if (auto *sparse = std::get_if<CsrMatrix>(&x)) {
    seen.insert(sparse->values().begin(), sparse->values().end());
    if (sparse->nonzeros() < sparse->cells())
      seen.insert(0.0);
  } else {
    const Tensor &dense = std::get<Tensor>(x);
    seen.insert(dense.as<double>(), dense.as<double>() + dense.elements());
  }
  return std::ssize(seen);
}

Value countIn(const HostCall &call, Direction direction) {
  if (direction == Direction::All)
    return countDistinctCells(call.matrix(0));
  Tensor x = call.dense(0);
  int64_t parts = partsOf(x, direction);
  Tensor result = direction == Direction::Rows ? newMatrix(parts, 1) : newMatrix(1, parts);
  for (int64_t part = 0; part < parts; ++part)
    result.as<double>()[part] = static_cast<double>(distinct(partOf(x, direction, part)).size());
  return result;
}

/// countDistinct(data, dir), and countDistinctApprox(data, type, dir), which is exact here
Value countDistinct(HostCall &call) {
  return countIn(call, directionOf(call, call.parameter("dir")));
}
Value countRows(HostCall &call) { return countIn(call, Direction::Rows); }
Value countColumns(HostCall &call) { return countIn(call, Direction::Columns); }

// --- Aggregates of groups ----------------------------------------------------------------------

/// One column's values of one group, with their weights.
struct Group {
  std::vector<double> values, weights;

  double weight() const {
    double sum = 0;
    for (double weight : weights)
      sum += weight;
    return sum;
  }
  double sum() const {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i)
      sum += weights[i] * values[i];
    return sum;
  }
  /// The sum of powers of the distances to the mean.
  double moment(int order) const {
    double mean = sum() / weight(), result = 0;
    for (size_t i = 0; i < values.size(); ++i)
      result += weights[i] * std::pow(values[i] - mean, order);
    return result;
  }
};

using GroupFunction = double (*)(const Group &group, int order);

double varianceOf(const Group &group, int) {
  double weight = group.weight();
  return weight > 1 ? group.moment(2) / (weight - 1) : 0;
}

GroupFunction groupFunction(const HostCall &call, const std::string &name) {
  static const std::unordered_map<std::string, GroupFunction> table = {
      {"sum", [](const Group &group, int) { return group.sum(); }},
      {"count", [](const Group &group, int) { return group.weight(); }},
      {"mean", [](const Group &group, int) { return group.sum() / group.weight(); }},
      {"variance", varianceOf},
      {"centralmoment",
       [](const Group &group, int order) { return group.moment(order) / group.weight(); }},
      {"min", [](const Group &group, int) { return *std::ranges::min_element(group.values); }},
      {"max", [](const Group &group, int) { return *std::ranges::max_element(group.values); }}};
  auto found = table.find(name);
  if (found == table.end())
    call.fail("expected the function \"sum\", \"count\", \"mean\", \"variance\", "
              "\"centralmoment\", \"min\" or \"max\", got \"" +
              name + "\"");
  return found->second;
}

/// Groups are numbered from 1; a fraction does not count. The largest if their number is not given.
std::vector<int64_t> groupsOf(const HostCall &call, int64_t rows, int64_t &count) {
  Tensor groups = call.dense(1);
  if (groups.shape()[1] != 1 || groups.shape()[0] != rows)
    call.fail("expected a column of " + std::to_string(rows) + " groups, got " +
                  describe(call.arguments[1]),
              ErrorKind::ShapeMismatch);
  bool open = count < 0;
  std::vector<int64_t> result;
  for (int64_t i = 0; i < rows; ++i) {
    double group = std::trunc(groups.as<double>()[i]);
    if (!(group >= 1 && group < 0x1p31))
      call.fail("expected groups from 1 to 2^31, got " + numberText(groups.as<double>()[i]));
    result.push_back(static_cast<int64_t>(group) - 1);
    count = open ? std::max(count, result.back() + 1) : count;
  }
  return result;
}

/// aggregate(target, groups, fn, weights, ngroups, order): a row for each group
Value aggregateGroups(HostCall &call) {
  Tensor x = call.dense(0);
  int64_t rows = x.shape()[0], cols = x.shape()[1];
  int64_t count = call.size(call.parameter("ngroups"), -1);
  std::vector<int64_t> groups = groupsOf(call, rows, count);
  std::vector<double> weights(static_cast<size_t>(rows), 1);
  if (call.given(3)) {
    Tensor given = call.dense(3);
    if (given.elements() != rows)
      call.fail("expected " + std::to_string(rows) + " weights, got " +
                    std::to_string(given.elements()),
                ErrorKind::ShapeMismatch);
    std::copy_n(given.as<double>(), rows, weights.begin());
  }
  const Value &power = call.arguments[call.parameter("order")];
  int64_t order = power.isString() ? std::llround(parseNumber(*power.as<std::string>()).value_or(0))
                                   : call.whole(call.parameter("order"), 2);
  std::string name = call.text(2, "");
  GroupFunction function = groupFunction(call, name);
  double empty = name == "centralmoment" ? std::nan("") : 0; // as SystemDS has it
  checkSparseSize(call, static_cast<double>(count), static_cast<double>(cols), 1);
  Tensor result = filled(0, std::max<int64_t>(count, 0), cols);
  for (int64_t j = 0; j < cols; ++j) {
    std::vector<Group> members(static_cast<size_t>(std::max<int64_t>(count, 0)));
    for (int64_t i = 0; i < rows; ++i) {
      // Groups beyond the number that is given are left out.
      if (groups[i] >= count)
        continue;
      members[groups[i]].values.push_back(x.as<double>()[i * cols + j]);
      members[groups[i]].weights.push_back(weights[i]);
    }
    for (int64_t group = 0; group < count; ++group)
      result.as<double>()[group * cols + j] =
          members[group].values.empty() ? empty : function(members[group], static_cast<int>(order));
  }
  return result;
}

} // namespace

const HostTable &groupFunctions() {
  static const HostTable table = {{"unique", unique},
                                  {"countDistinct", countDistinct},
                                  {"countDistinctApprox", countDistinct},
                                  {"rowCountDistinct", countRows},
                                  {"rowCountDistinctApprox", countRows},
                                  {"colCountDistinct", countColumns},
                                  {"colCountDistinctApprox", countColumns},
                                  {"aggregate", aggregateGroups}};
  return table;
}

} // namespace headrace::script
