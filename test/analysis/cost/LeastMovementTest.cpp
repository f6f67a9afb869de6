// The bound against the least that a search over all executions finds, and against simulated
// caches.
#include "analysis/cost/LeastMovement.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <list>
#include <unordered_map>

namespace headrace {
namespace {

constexpr double kElement = 4;

Work productOf(double points, double positions = 1) {
  Work work;
  work.reuse.push_back({points, positions, kElement});
  return work;
}

/// The least transfers of C = A B, of a row and a matrix of 2 x 2, through a cache of `size`
/// elements: breadth first over what is in the cache, what of C is newer there than in memory, and
/// the points done.
class Search {
public:
  explicit Search(int size) : size(size) {}

  int run() {
    reach({0, 0, 0}, 0);
    while (!queue.empty()) {
      auto [state, cost] = queue.front();
      queue.pop_front();
      if (least[key(state)] < cost)
        continue;
      if (state.done == 15 && state.dirty == 0)
        best = best < 0 ? cost : std::min(best, cost);
      else
        step(state, cost);
    }
    return best;
  }

private:
  // Elements 0 and 1 are of A, 2 to 5 of B, 6 and 7 of C.
  static constexpr int kElements = 8, kFirstOfC = 6;
  struct State {
    unsigned cached, dirty, done;
  };
  static unsigned key(const State &s) { return s.cached << 16 | s.dirty << 8 | s.done; }

  void reach(const State &state, int cost) {
    auto [known, isNew] = least.try_emplace(key(state), cost);
    if (!isNew && known->second <= cost)
      return;
    known->second = cost;
    queue.emplace_back(state, cost);
  }

  static bool isBegun(const State &s, int c) { return s.done >> (2 * (c - kFirstOfC)) & 3; }

  void step(const State &s, int cost) {
    bool hasRoom = __builtin_popcount(s.cached) < size;
    for (int e = 0; e < kElements; ++e) {
      unsigned bit = 1u << e;
      bool isHere = s.cached & bit;
      if (!isHere && hasRoom)
        reach({s.cached | bit, s.dirty, s.done}, cost + 1); // read
      if (isHere && (s.dirty & bit))
        reach({s.cached, s.dirty & ~bit, s.done}, cost + 1); // write
      if (isHere && !(s.dirty & bit))
        reach({s.cached & ~bit, s.dirty, s.done}, cost); // forget
      // Sums begin from nothing: the first needs no read.
      if (e >= kFirstOfC && !isHere && !isBegun(s, e) && hasRoom)
        reach({s.cached | bit, s.dirty | bit, s.done}, cost);
    }
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) {
        int a = k, b = 2 + 2 * k + j, c = kFirstOfC + j;
        unsigned needed = 1u << a | 1u << b | 1u << c, point = 1u << (2 * j + k);
        if ((s.cached & needed) == needed && !(s.done & point))
          reach({s.cached, s.dirty | 1u << c, s.done | point}, cost);
      }
  }

  int size, best = -1;
  std::deque<std::pair<State, int>> queue;
  std::unordered_map<unsigned, int> least;
};

/// Reads and writes of a cache that forgets what was used longest ago.
class LeastRecentlyUsed {
public:
  explicit LeastRecentlyUsed(size_t size) : size(size) {}

  void use(int64_t element, bool writes) {
    auto found = places.find(element);
    bool wasDirty = false;
    if (found != places.end()) {
      wasDirty = found->second->second;
      order.erase(found->second);
    } else {
      ++transfers;
    }
    order.emplace_front(element, wasDirty || writes);
    places[element] = order.begin();
    if (order.size() > size) {
      transfers += order.back().second;
      places.erase(order.back().first);
      order.pop_back();
    }
  }

  int64_t finish() {
    for (auto &[element, dirty] : order)
      transfers += dirty;
    return transfers;
  }

private:
  size_t size;
  int64_t transfers = 0;
  std::list<std::pair<int64_t, bool>> order;
  std::unordered_map<int64_t, std::list<std::pair<int64_t, bool>>::iterator> places;
};

TEST(LeastMovementTest, NoExecutionOfASmallProductMovesLess) {
  Work work = productOf(4);
  constexpr double compulsory = 8 * kElement;
  int last = 1000;
  for (int size = 3; size <= 8; ++size) {
    int searched = Search(size).run();
    EXPECT_LE(leastBytes(work, compulsory, size * kElement), searched * kElement) << size;
    EXPECT_LE(searched, last);
    last = searched;
  }
  EXPECT_EQ(last * kElement, leastBytes(work, compulsory, 8 * kElement));
}

TEST(LeastMovementTest, ACacheThatHoldsAllMovesEverythingOnce) {
  EXPECT_EQ(leastBytes(productOf(1e6), 3e4, 1e6), 3e4);
  EXPECT_EQ(leastBytes({}, 512, 16), 512);
}

TEST(LeastMovementTest, TiledProductsMoveMoreThanTheBoundAndItExceedsOneReading) {
  constexpr int64_t side = 64;
  constexpr double compulsory = 3.0 * side * side * kElement;
  for (int64_t elements : {24, 32, 48}) {
    double bound = leastBytes(productOf(side * side * side), compulsory, elements * kElement);
    EXPECT_GT(bound, compulsory);
    for (int64_t tile : {1, 2, 4}) {
      LeastRecentlyUsed cache(static_cast<size_t>(elements));
      for (int64_t i0 = 0; i0 < side; i0 += tile)
        for (int64_t j0 = 0; j0 < side; j0 += tile)
          for (int64_t k = 0; k < side; ++k)
            for (int64_t i = i0; i < i0 + tile; ++i)
              for (int64_t j = j0; j < j0 + tile; ++j) {
                cache.use(i * side + k, false);
                cache.use(side * side + k * side + j, false);
                cache.use(2 * side * side + i * side + j, true);
              }
      EXPECT_GE(static_cast<double>(cache.finish()) * kElement, bound) << elements << " " << tile;
    }
  }
}

TEST(LeastMovementTest, WindowsShareTheirImageSoThatLessMustMove) {
  double points = 1e9, cache = 1 << 15;
  double product = leastBytes(productOf(points), 0, cache);
  double window = leastBytes(productOf(points, 9), 0, cache);
  EXPECT_GT(window, 0);
  EXPECT_NEAR(product / window, 3, 0.1);
}

} // namespace
} // namespace headrace
