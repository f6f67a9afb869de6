#include "studio/layout/Layered.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace headrace::studio {

namespace {

/// Hints outweigh neighbours in a row's least squares.
constexpr double kHintWeight = 50;
constexpr int kSweeps = 6;

class Layout {
public:
  Layout(const std::vector<LayeredItem> &items, const std::vector<LayeredEdge> &edges)
      : items(items) {
    for (const LayeredEdge &edge : edges)
      downwards.push_back(edge.from <= edge.to ? edge : LayeredEdge{edge.to, edge.from});
  }

  LayeredResult run() {
    chooseRows();
    addPlaces();
    addRoutes();
    fillRows();
    orderRows();
    chooseCenters();
    return std::move(result);
  }

private:
  /// The longest path from the top, or the row of the hint if that is lower. What has no
  /// predecessor comes right above its first user.
  void chooseRows() {
    size_t count = items.size();
    rows.assign(count, 0);
    std::vector<std::vector<int>> after(count);
    std::vector<char> hasBefore(count, 0);
    for (const LayeredEdge &edge : downwards)
      if (edge.from != edge.to) {
        after[edge.from].push_back(edge.to);
        hasBefore[edge.to] = 1;
      }
    for (size_t i = 0; i < count; ++i) {
      if (items[i].hint)
        rows[i] = std::max(rows[i], items[i].hint->row);
      for (int next : after[i])
        rows[next] = std::max(rows[next], rows[i] + 1);
    }
    for (size_t i = count; i-- > 0;) {
      if (hasBefore[i] || items[i].hint || after[i].empty())
        continue;
      int first = std::numeric_limits<int>::max();
      for (int next : after[i])
        first = std::min(first, rows[next]);
      rows[i] = first - 1;
    }
  }

  void addPlaces() {
    for (size_t i = 0; i < items.size(); ++i) {
      result.places.push_back({static_cast<int>(i), rows[i], 0});
      widths.push_back(items[i].width);
    }
  }

  /// All edges from one item share a chain of passing places.
  void addRoutes() {
    result.routes.resize(downwards.size());
    std::vector<std::vector<int>> byOrigin(items.size());
    for (size_t e = 0; e < downwards.size(); ++e)
      byOrigin[downwards[e].from].push_back(static_cast<int>(e));
    for (size_t i = 0; i < items.size(); ++i) {
      int last = 0;
      for (int e : byOrigin[i])
        if (int span = rows[downwards[e].to] - rows[i]; span <= kMaxRoute)
          last = std::max(last, span);
      std::vector<int> chain;
      for (int step = 1; step < last; ++step) {
        int place = static_cast<int>(result.places.size());
        result.places.push_back({-1, rows[i] + step, 0});
        widths.push_back(kPassWidth);
        connect(chain.empty() ? static_cast<int>(i) : chain.back(), place);
        chain.push_back(place);
      }
      for (int e : byOrigin[i]) {
        int to = downwards[e].to, span = rows[to] - rows[i];
        if (span < 1 || span > kMaxRoute)
          continue;
        result.routes[e].assign(chain.begin(), chain.begin() + (span - 1));
        connect(span == 1 ? static_cast<int>(i) : chain[span - 2], to);
      }
    }
    above.resize(result.places.size());
    below.resize(result.places.size());
  }

  void connect(int upper, int lower) {
    size_t needed = static_cast<size_t>(std::max(upper, lower)) + 1;
    if (above.size() < needed) {
      above.resize(needed);
      below.resize(needed);
    }
    above[lower].push_back(upper);
    below[upper].push_back(lower);
  }

  void fillRows() {
    int count = 0;
    for (const RowPlace &place : result.places)
      count = std::max(count, place.row + 1);
    result.rows.resize(static_cast<size_t>(count));
    for (size_t p = 0; p < result.places.size(); ++p)
      result.rows[result.places[p].row].push_back(static_cast<int>(p));
  }

  const std::optional<PlaceHint> &hintOf(int place) const {
    static const std::optional<PlaceHint> none;
    int item = result.places[place].item;
    return item < 0 ? none : items[item].hint;
  }

  /// Sorts rows by the mean position of neighbours, downwards and upwards in turns. Places with
  /// hints keep the order of the hints.
  void orderRows() {
    position.resize(result.places.size());
    for (std::vector<int> &row : result.rows)
      number(row);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool down = sweep % 2 == 0;
      for (size_t r = 0; r < result.rows.size(); ++r)
        sortRow(result.rows[down ? r : result.rows.size() - 1 - r], down ? above : below);
    }
    for (std::vector<int> &row : result.rows)
      keepHintedOrder(row);
  }

  void number(const std::vector<int> &row) {
    for (size_t i = 0; i < row.size(); ++i)
      position[row[i]] = static_cast<double>(i) - static_cast<double>(row.size()) / 2;
  }

  void sortRow(std::vector<int> &row, const std::vector<std::vector<int>> &neighbours) {
    if (row.size() < 2)
      return;
    std::vector<std::pair<double, int>> keys;
    for (int place : row) {
      double sum = 0;
      for (int other : neighbours[place])
        sum += position[other];
      keys.emplace_back(neighbours[place].empty() ? position[place]
                                                  : sum / double(neighbours[place].size()),
                        place);
    }
    std::stable_sort(keys.begin(), keys.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = keys[i].second;
    number(row);
  }

  /// The hinted places of a row, among the spots that hinted places have, by their hints.
  void keepHintedOrder(std::vector<int> &row) {
    std::vector<int> hinted;
    for (int place : row)
      if (hintOf(place))
        hinted.push_back(place);
    std::stable_sort(hinted.begin(), hinted.end(),
                     [&](int a, int b) { return hintOf(a)->x < hintOf(b)->x; });
    auto next = hinted.begin();
    for (int &place : row)
      if (hintOf(place))
        place = *next++;
  }

  /// Each row takes the centers nearest to the mean of its neighbours, in turns from above and
  /// below; the last turn lets hints decide.
  void chooseCenters() {
    for (const std::vector<int> &row : result.rows) {
      double at = 0;
      for (int place : row) {
        result.places[place].x = at + widths[place] / 2;
        at += widths[place] + kGap;
      }
      for (int place : row)
        result.places[place].x -= (at - kGap) / 2;
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool down = sweep % 2 == 0;
      for (size_t r = 0; r < result.rows.size(); ++r)
        centerRow(result.rows[down ? r : result.rows.size() - 1 - r], down ? above : below,
                  down ? below : above);
    }
  }

  void centerRow(const std::vector<int> &row, const std::vector<std::vector<int>> &neighbours,
                 const std::vector<std::vector<int>> &others) {
    std::vector<double> centers, weights, apart;
    for (size_t i = 0; i < row.size(); ++i) {
      int place = row[i];
      centers.push_back(wanted(place, neighbours[place], others[place]));
      bool passes = result.places[place].item < 0;
      weights.push_back(hintOf(place)               ? kHintWeight
                        : passes                    ? 4
                        : neighbours[place].empty() ? 0.2
                                                    : 1);
      if (i > 0)
        apart.push_back((widths[row[i - 1]] + widths[place]) / 2 + kGap);
    }
    keepApart(centers, weights, apart);
    for (size_t i = 0; i < row.size(); ++i)
      result.places[row[i]].x = centers[i];
  }

  double wanted(int place, const std::vector<int> &neighbours,
                const std::vector<int> &others) const {
    if (const std::optional<PlaceHint> &hint = hintOf(place))
      return hint->x;
    const std::vector<int> &used = neighbours.empty() ? others : neighbours;
    if (used.empty())
      return result.places[place].x;
    // The middle one or two: a far neighbour must not pull a chain out of its line.
    std::vector<double> centers;
    for (int other : used)
      centers.push_back(result.places[other].x);
    std::ranges::sort(centers);
    size_t middle = centers.size() / 2;
    return centers.size() % 2 ? centers[middle] : (centers[middle - 1] + centers[middle]) / 2;
  }

  const std::vector<LayeredItem> &items;
  std::vector<LayeredEdge> downwards;
  std::vector<int> rows;
  std::vector<double> widths;
  std::vector<std::vector<int>> above, below; // of places
  std::vector<double> position;               // of places in their rows
  LayeredResult result;
};

} // namespace

// Pools neighbours that come too near: the pool takes their weighted mean.
void keepApart(std::vector<double> &centers, const std::vector<double> &weights,
               const std::vector<double> &apart) {
  struct Pool {
    double sum, weight;
    size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<double> offsets(centers.size(), 0); // distances add up to these
  for (size_t i = 1; i < centers.size(); ++i)
    offsets[i] = offsets[i - 1] + apart[i - 1];
  std::vector<Pool> pools;
  for (size_t i = 0; i < centers.size(); ++i) {
    pools.push_back({(centers[i] - offsets[i]) * weights[i], weights[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().weight += last.weight;
      pools.back().count += last.count;
    }
  }
  size_t at = 0;
  for (const Pool &pool : pools)
    for (size_t i = 0; i < pool.count; ++i, ++at)
      centers[at] = pool.mean() + offsets[at];
}

LayeredResult layOut(const std::vector<LayeredItem> &items, const std::vector<LayeredEdge> &edges) {
  return Layout(items, edges).run();
}

} // namespace headrace::studio
