// A program's recipe: the compiler's choices from the simplification of operators to the schedules
// of kernels, as text.
//
//   # machine parameters 5d41402abc4b2a76
//   fold bn1 into conv1          # a normalization moves into weights ("leave bn1": it does not)
//   layout conv1 channels-last   # or channels-first
//   expand gemm1 as openblas     # by a library's routine, or as generated
//   fuse relu1 into conv1        # one kernel for both ("separate relu1": its own)
//   walk sum1 along d0           # its kernel goes through blocks of rows ("along nothing")
//   merge mean1 into sum1        # one kernel instead of two
//   plan kernels greedily        # producers join their readers; else "by-time"
//   pack gemm1 by 32             # constant weights in tiles of 32 columns ("by 1": unpacked)
//   slice conv1 by 1             # kernel conv1 runs on one image at a time, with its neighbours
//   follow recipe where-possible # what cannot be followed is passed over; else "strictly"
//   kernel conv1:                # there is such a kernel, with this schedule (Recipe.h), or with
//     conv: parallel d0          # one that the compiler chooses if none is given
//
// The compiler writes one that says all, and follows one that says less: what it does not name
// stays automatic. An operator is called as its node; if several come from one node, `node/kind`
// is one of them, and the node's own name means all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// One choice: "fuse conv1 into relu1".
struct ProgramStep {
  std::string verb, subject;
  std::string object; // empty if the verb takes none
  int line = 0;       // where it is in a text; 0 if it was not read from one

  std::string text() const;
  /// "fuse A into B" names a second operator, "walk A along d0" does not.
  bool hasOperatorAsObject() const;
};

struct ProgramRecipe {
  /// A kernel that there is to be, and the lines of its schedule.
  struct Kernel {
    std::string name, schedule;
    int line = 0;
    std::vector<int> lines{}; // of the schedule
  };

  /// The comment that it begins with, if it does: under which machine parameters what it says was
  /// chosen. Nothing follows from it.
  std::string heading;
  std::vector<ProgramStep> steps;
  std::vector<Kernel> kernels;
  /// Lines on stages that are under no kernel, each where it stood; empty if there are none.
  std::string stages;

  std::string text() const;
  /// Throws `Error` (line and column, what was expected, what was found) for a word that no recipe
  /// has. Lines of schedules are read by those who follow them.
  static ProgramRecipe parse(std::string_view text);
};

/// The text with a last line by which what cannot be followed is passed over.
std::string followedWherePossible(std::string_view recipe);

/// The recipe of a program and its gradient:
///
///   layout conv1 channels-last   # if both still are one
///   keep conv1                   # for the backward program;  recompute relu1: it does so itself
///   forward:                     # recipes of the two
///   fuse relu1 into conv1
///   backward:
///   expand conv1 as generated
struct GradientRecipe {
  std::string split, forward, backward;
  bool hasPrograms = false; // whether it has either

  static GradientRecipe of(std::string_view text);
};

} // namespace headrace
