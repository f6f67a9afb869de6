// A recipe: how a program's loops are to run, as a list of steps on named stages and axes.
//
//   C: split i by 6 -> i.o i.i        # two loops: i.o over tiles of 6, i.i inside one
//   C: tile i j by 6 16               # splits, and the inner loops moved inside the outer ones
//   C: reorder i.o j.o k i.i j.i      # all loops, outermost first
//   C: fuse i.o j.o -> ij             # one loop instead of two neighbours
//   C: parallel ij                    # iterations are shared among threads
//   C: unroll i.i
//   C: vectorize j.i
//   C: cache_read B -> B.local        # a copy of what C reads, a stage of its own
//   C: cache_write -> C.local         # C's values computed apart, then copied
//   C: compute_at D j.o               # computed inside D's loop, as far as one iteration needs it
//   C: pack B at j.o                  # what C reads of B inside that loop, in the order it is read
//   C: prefetch B by 2                # panels of B are fetched so far ahead; 0: not at all
//   C: tensorize i.i j.i k.i with gemm8x8  # a call of what was declared, instead of those loops
//
// A recipe is data: it is printed, saved, edited as text and applied to any program that has
// stages and axes of those names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct RecipeStep {
  enum class Kind {
    Split,
    Tile,
    Reorder,
    Fuse,
    Parallel,
    Unroll,
    Vectorize,
    CacheRead,
    CacheWrite,
    ComputeAt,
    Pack,
    Prefetch,
    Tensorize,
  };
  Kind kind = Kind::Split;
  std::string stage;
  /// The other thing the step names: a stage, an operand or an intrinsic.
  std::string target;
  std::vector<std::string> axes;
  std::vector<int64_t> sizes;
  /// Names of what the step makes; chosen by the step if empty.
  std::vector<std::string> names;
  /// Where it is in a text; 0 if it was not read from one.
  int line = 0;

  /// The step as its line of text.
  std::string text() const;
};

struct Recipe {
  std::vector<RecipeStep> steps;

  bool empty() const { return steps.empty(); }
  std::string text() const;
  /// Throws `Error` (line and column, what was expected, what was found). `kinds` are the words
  /// that could be used instead of a step, for messages.
  static Recipe parse(std::string_view text, const std::vector<std::string> &kinds = {});
};

} // namespace headrace
