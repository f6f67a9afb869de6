// Sums over forests of decision trees: the library routines "forest.f32" and "forest.f64".
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"

#include <span>
#include <string>
#include <type_traits>

namespace headrace {

/// A node asks whether a feature is at most its threshold. The place after the one it holds is that
/// of what is above, or not a number; places count from the first one of the tree. From the low
/// bits, `way` holds the feature, a bit that sends what is not a number to the place itself (only
/// if the forest has such nodes), and the place. A leaf's threshold is NaN, which nothing is at
/// most, and its place the one before its own: every step from a leaf stays there. A node of that
/// form that leads to another one is a jump.
template <class T> struct ForestNode {
  T threshold;
  std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t> way;
};

/// The parameters of a step that evaluates decision trees.
struct ForestSizes {
  enum Combine : int64_t { Sum, Min, Max };

  int64_t rows, features;
  int64_t trees, places; // those of all trees
  int64_t leaves, targets;
  int64_t featureBits;
  int64_t treatsNaN; // whether nodes have the bit for what is not a number
  int64_t combine;

  static constexpr size_t parameters = 9;
};

/// Trees and leaves as tables. A walk of a tree starts at the place after `roots`, where its
/// nodes begin, and ends after `depths` steps at most.
template <class T> struct ForestTables {
  const int32_t *roots, *depths;
  const ForestNode<T> *nodes;
  const int32_t *leaves; // by place: the row of `weights`
  const T *weights;      // [leaves, targets]
};

/// The weights of the leaves that each row reaches, combined in the order of trees: [rows,
/// targets].
template <class T>
void walkForest(const ForestSizes &sizes, const ForestTables<T> &tables, const T *rows, T *result,
                ThreadPool &pool);

/// The routines behind steps: operands rows, the members of ForestTables, result; parameters are
/// the members of ForestSizes.
template <class T>
void runForestStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                   ThreadPool &pool);
template <class T>
std::string forestStepFault(std::span<const int64_t> parameters,
                            std::span<const int64_t> operandBytes);

} // namespace headrace
