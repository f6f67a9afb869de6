// A walk waits for memory at every step, so several run at a time: of rows in one tree, whose nodes
// stay in the cache then, or of trees for a row that is left alone. Steps have no branches; a leaf
// leads to itself until the longest of the walks has ended.
#include "runtime/library/Forest.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <limits>

namespace headrace {

namespace {

template <class T, bool TreatsNaN, ForestSizes::Combine Combine> class Forest {
public:
  Forest(const ForestSizes &sizes, const ForestTables<T> &tables, const T *rows, T *result)
      : sizes(sizes), tables(tables), rows(rows), result(result),
        featureMask((Way(1) << sizes.featureBits) - 1),
        placeShift(static_cast<int>(sizes.featureBits) + TreatsNaN) {}

  /// Blocks of rows stay in the cache while all trees go through them.
  void walk(int64_t begin, int64_t end) const {
    constexpr int64_t cacheBytes = 256 * 1024;
    auto rowBytes = static_cast<int64_t>(sizeof(T)) * (sizes.features + sizes.targets);
    int64_t block = std::max<int64_t>(cacheBytes / rowBytes / wide * wide, wide);
    std::fill(result + begin * sizes.targets, result + end * sizes.targets, neutral());
    for (int64_t first = begin; first < end; first += block)
      walkBlock(first, std::min(first + block, end));
  }

private:
  using Node = ForestNode<T>;
  using Way = decltype(Node::way);
  static constexpr int wide = 16, narrow = 8; // walks at a time

  static T neutral() {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return Combine == ForestSizes::Sum ? T(0) : Combine == ForestSizes::Min ? infinity : -infinity;
  }

  void walkBlock(int64_t begin, int64_t end) const {
    int64_t count = end - begin, inWide = begin + count / wide * wide,
            inNarrow = begin + count / narrow * narrow;
    for (int64_t tree = 0; tree < sizes.trees && inNarrow > begin; ++tree) {
      for (int64_t row = begin; row < inWide; row += wide)
        walkRows<wide>(tree, row);
      for (int64_t row = inWide; row < inNarrow; row += narrow)
        walkRows<narrow>(tree, row);
    }
    for (int64_t row = inNarrow; row < end; ++row) {
      int64_t tree = 0;
      for (; tree + narrow <= sizes.trees; tree += narrow)
        walkTrees<narrow>(tree, row);
      for (; tree < sizes.trees; ++tree)
        walkTrees<1>(tree, row);
    }
  }

  template <int Count> void walkRows(int64_t tree, int64_t row) const {
    const Node *nodes = tables.nodes + tables.roots[tree];
    const T *features = rows + row * sizes.features;
    Way places[Count];
    descend<Count>(
        places, tables.depths[tree], [&](int) { return nodes; },
        [&](int i) { return features + i * sizes.features; });
    for (int i = 0; i < Count; ++i)
      add(tables.roots[tree], places[i], row + i);
  }

  template <int Count> void walkTrees(int64_t tree, int64_t row) const {
    const T *features = rows + row * sizes.features;
    const int32_t *roots = tables.roots + tree, *depths = tables.depths + tree;
    Way places[Count];
    descend<Count>(
        places, *std::max_element(depths, depths + Count),
        [&](int i) { return tables.nodes + roots[i]; }, [&](int) { return features; });
    for (int i = 0; i < Count; ++i)
      add(roots[i], places[i], row);
  }

  /// To the leaves of all walks. Whether they are there is asked every few steps.
  template <int Count, class Tree, class Row>
  void descend(Way (&places)[Count], int32_t depth, Tree tree, Row row) const {
    std::fill(places, places + Count, Way(1));
    auto step = [&] {
      Way moved = 0;
      for (int i = 0; i < Count; ++i) {
        Way next = successor(tree(i)[places[i]], row(i));
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

  Way successor(const Node &node, const T *features) const {
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

template <class T, bool TreatsNaN, ForestSizes::Combine Combine>
void walkAll(const ForestSizes &sizes, const ForestTables<T> &tables, const T *rows, T *result,
             ThreadPool &pool) {
  constexpr int64_t grain = 1024; // walks that are worth a worker's waking up
  Forest<T, TreatsNaN, Combine> forest(sizes, tables, rows, result);
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
  auto withNaN = [&]<ForestSizes::Combine combine>() {
    if (sizes.treatsNaN)
      walkAll<T, true, combine>(sizes, tables, rows, result, pool);
    else
      walkAll<T, false, combine>(sizes, tables, rows, result, pool);
  };
  if (sizes.combine == ForestSizes::Min)
    return withNaN.template operator()<ForestSizes::Min>();
  if (sizes.combine == ForestSizes::Max)
    return withNaN.template operator()<ForestSizes::Max>();
  withNaN.template operator()<ForestSizes::Sum>();
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
