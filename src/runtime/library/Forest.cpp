// A walk waits for memory at every step, so several run at a time: of rows in one tree, whose nodes
// stay in the cache then, or of several trees for rows that are too few. Steps have no branches; a
// leaf leads to itself until the longest of the walks has ended.
#include "runtime/library/Forest.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <limits>

namespace headrace {

namespace {

template <class T, ForestSizes::Combine Combine> class Forest {
public:
  Forest(const ForestSizes &sizes, const ForestTables<T> &tables, const T *rows, T *result)
      : sizes(sizes), tables(tables), rows(rows), result(result),
        featureMask((Way(1) << sizes.featureBits) - 1),
        placeShift(static_cast<int>(sizes.featureBits + (sizes.treatsNaN ? 1 : 0))) {}

  /// Blocks of rows stay in the cache while all trees go through them.
  void walk(int64_t begin, int64_t end) const {
    constexpr int64_t cacheBytes = 256 * 1024;
    auto rowBytes = static_cast<int64_t>(sizeof(T)) * (sizes.features + sizes.targets);
    int64_t block = std::max<int64_t>(cacheBytes / rowBytes / wide * wide, wide);
    std::fill(result + begin * sizes.targets, result + end * sizes.targets, neutral());
    for (int64_t first = begin; first < end; first += block)
      if (int64_t last = std::min(first + block, end); sizes.treatsNaN && hasNaN(first, last))
        walkBlock<true>(first, last);
      else
        walkBlock<false>(first, last);
  }

private:
  using Node = ForestNode<T>;
  using Way = decltype(Node::way);
  static constexpr int wide = 16; // walks at a time

  bool hasNaN(int64_t begin, int64_t end) const {
    return std::any_of(rows + begin * sizes.features, rows + end * sizes.features,
                       [](T value) { return value != value; });
  }

  static T neutral() {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return Combine == ForestSizes::Sum ? T(0) : Combine == ForestSizes::Min ? infinity : -infinity;
  }

  template <bool TreatsNaN> void walkBlock(int64_t begin, int64_t end) const {
    int64_t rest = begin + (end - begin) / wide * wide;
    for (int64_t tree = 0; tree < sizes.trees && rest > begin; ++tree)
      for (int64_t row = begin; row < rest; row += wide)
        walkRows<TreatsNaN>(tree, row);
    if (rest < end)
      walkRest<TreatsNaN>(rest, end);
  }

  template <bool TreatsNaN> void walkRows(int64_t tree, int64_t row) const {
    const Node *nodes = tables.nodes + tables.roots[tree];
    const T *features = rows + row * sizes.features;
    Way places[wide];
    descend<TreatsNaN>(
        places, tables.depths[tree], [&](int) { return nodes; },
        [&](int i) { return features + i * sizes.features; });
    for (int i = 0; i < wide; ++i)
      add(tables.roots[tree], places[i], row + i);
  }

  /// Rows that are too few: those of a tree are followed by those of the next.
  template <bool TreatsNaN> void walkRest(int64_t begin, int64_t end) const {
    int64_t tree = 0, row = begin;
    while (tree < sizes.trees) {
      int64_t walks = 0, rowOf[wide];
      int32_t depth = 0, roots[wide];
      const Node *nodes[wide];
      const T *features[wide];
      for (; walks < wide && tree < sizes.trees; ++walks) {
        roots[walks] = tables.roots[tree];
        rowOf[walks] = row;
        nodes[walks] = tables.nodes + roots[walks];
        features[walks] = rows + row * sizes.features;
        depth = std::max(depth, tables.depths[tree]);
        if (++row == end) {
          row = begin;
          ++tree;
        }
      }
      std::fill(nodes + walks, nodes + wide, nodes[0]);
      std::fill(features + walks, features + wide, features[0]);
      Way places[wide];
      descend<TreatsNaN>(
          places, depth, [&](int i) { return nodes[i]; }, [&](int i) { return features[i]; });
      for (int64_t i = 0; i < walks; ++i)
        add(roots[i], places[i], rowOf[i]);
    }
  }

  /// To the leaves of all walks. Whether they are there is asked every few steps.
  template <bool TreatsNaN, class Tree, class Row>
  void descend(Way (&places)[wide], int32_t depth, Tree tree, Row row) const {
    std::fill(places, places + wide, Way(1));
    auto step = [&] {
      Way moved = 0;
      for (int i = 0; i < wide; ++i) {
        Way next = successor<TreatsNaN>(tree(i)[places[i]], row(i));
        moved |= next ^ places[i];
        places[i] = next;
      }
      return moved != 0;
    };
    for (; depth >= 2; depth -= 2) {
      step();
      if (!step())
        return;
    }
    if (depth == 1)
      step();
  }

  template <bool TreatsNaN> Way successor(const Node &node, const T *features) const {
    T value = features[node.way & featureMask];
    auto isAbove = static_cast<Way>(!(value <= node.threshold));
    if constexpr (TreatsNaN)
      isAbove &= ~(node.way >> sizes.featureBits & static_cast<Way>(value != value));
    return (node.way >> placeShift) + isAbove;
  }

  void add(int32_t root, Way place, int64_t row) const {
    const T *weights = tables.weights + tables.leaves[root + place] * sizes.targets;
    T *to = result + row * sizes.targets;
    for (int64_t target = 0; target < sizes.targets; ++target)
      to[target] = combined(to[target], weights[target]);
  }

  static T combined(T a, T b) {
    if constexpr (Combine == ForestSizes::Sum)
      return a + b;
    return Combine == ForestSizes::Min ? std::min(a, b) : std::max(a, b);
  }

  const ForestSizes &sizes;
  const ForestTables<T> &tables;
  const T *rows;
  T *result;
  Way featureMask;
  int placeShift;
};

template <class T, ForestSizes::Combine Combine>
void walkAll(const ForestSizes &sizes, const ForestTables<T> &tables, const T *rows, T *result,
             ThreadPool &pool) {
  constexpr int64_t grain = 1024; // walks that are worth a worker's waking up
  Forest<T, Combine> forest(sizes, tables, rows, result);
  pool.parallelFor(sizes.rows, std::max<int64_t>(1, grain / std::max<int64_t>(sizes.trees, 1)),
                   [&](int64_t begin, int64_t end, int) { forest.walk(begin, end); });
}

ForestSizes sizesOf(std::span<const int64_t> p) {
  return {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]};
}

} // namespace

template <class T>
void walkForest(const ForestSizes &sizes, const ForestTables<T> &tables, const T *rows, T *result,
                ThreadPool &pool) {
  if (sizes.combine == ForestSizes::Min)
    return walkAll<T, ForestSizes::Min>(sizes, tables, rows, result, pool);
  if (sizes.combine == ForestSizes::Max)
    return walkAll<T, ForestSizes::Max>(sizes, tables, rows, result, pool);
  walkAll<T, ForestSizes::Sum>(sizes, tables, rows, result, pool);
}

template <class T>
void runForestStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                   ThreadPool &pool) {
  if (step.operands.size() != 7 || parameters.size() != ForestSizes::parameters)
    throw InternalError("step '" + step.name + "': a forest takes 7 operands and 9 parameters");
  ForestTables<T> tables{
      static_cast<const int32_t *>(buffers[1]), static_cast<const int32_t *>(buffers[2]),
      static_cast<const ForestNode<T> *>(buffers[3]), static_cast<const int32_t *>(buffers[4]),
      static_cast<const T *>(buffers[5])};
  walkForest(sizesOf(parameters), tables, static_cast<const T *>(buffers[0]),
             static_cast<T *>(buffers[6]), pool);
}

template <class T>
std::string forestStepFault(std::span<const int64_t> parameters,
                            std::span<const int64_t> operandBytes) {
  ForestSizes s = sizesOf(parameters);
  auto fits = [&](size_t operand, size_t element, int64_t count, int64_t width = 1) {
    auto total = static_cast<int64_t>(element);
    for (int64_t size : {count, width})
      if (size < 0 || __builtin_mul_overflow(total, size, &total))
        return false;
    return total <= operandBytes[operand];
  };
  bool isSound = fits(0, sizeof(T), s.rows, s.features) && fits(1, sizeof(int32_t), s.trees) &&
                 fits(2, sizeof(int32_t), s.trees) && fits(3, sizeof(ForestNode<T>), s.places) &&
                 fits(4, sizeof(int32_t), s.places) && fits(5, sizeof(T), s.leaves, s.targets) &&
                 fits(6, sizeof(T), s.rows, s.targets) && s.featureBits >= 0 &&
                 s.featureBits < std::numeric_limits<decltype(ForestNode<T>::way)>::digits;
  if (isSound)
    return "";
  return "walks " + std::to_string(s.rows) + " rows of " + std::to_string(s.features) +
         " features through " + std::to_string(s.trees) + " trees of " + std::to_string(s.places) +
         " places and " + std::to_string(s.leaves) + " leaves for " + std::to_string(s.targets) +
         " targets, in buffers that are too small";
}

#define HEADRACE_FOREST(T)                                                                         \
  template void walkForest<T>(const ForestSizes &, const ForestTables<T> &, const T *, T *,        \
                              ThreadPool &);                                                       \
  template void runForestStep<T>(const Step &, void *const *, std::span<const int64_t>,            \
                                 ThreadPool &);                                                    \
  template std::string forestStepFault<T>(std::span<const int64_t>, std::span<const int64_t>)
HEADRACE_FOREST(float);
HEADRACE_FOREST(double);
#undef HEADRACE_FOREST

} // namespace headrace
