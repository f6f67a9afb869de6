// Intrinsics: instructions or routines of a machine, each declared by an expression of what it
// computes.
//
// `tensorize` puts one in the place of a stage's innermost loops, if they compute the same. The
// function behind it is a C symbol:
//
//   void gemm8x8(const float *a, int64_t a0, int64_t a1, const float *b, int64_t b0, int64_t b1,
//                float *c, int64_t c0, int64_t c1);
//
// One pointer per input, in order, then the result; after each, how many elements apart its
// neighbours along every dimension lie. A reduction is accumulated into what the result holds.
#pragma once

#include "transform/recipe/LoopModel.h"

namespace headrace {

struct Intrinsic {
  std::string name;
  /// Its computation; sizes are constants, and its axes come in the order of its dimensions, then
  /// those it reduces.
  Stage pattern;
  /// The code; null if it is generated from the expression.
  void *function = nullptr;

  /// The symbol that generated code calls.
  std::string symbol() const { return "headrace_intrinsic_" + name; }
};

/// Throws `Error` if the pattern cannot be one. A name that is declared again means the new one
/// from then on.
void declareIntrinsic(Intrinsic intrinsic);
std::optional<Intrinsic> findIntrinsic(const std::string &name);
std::vector<Intrinsic> declaredIntrinsics();

/// Why the loops of those names, one per axis of the pattern, do not compute what the intrinsic
/// does; empty if they do.
std::string unsupportedEqualReason(const Stage &stage, const std::vector<std::string> &loops,
                                   const Intrinsic &intrinsic);

} // namespace headrace
