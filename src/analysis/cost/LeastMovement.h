// A lower bound on the data that any schedule of a kernel moves between a cache and what lies
// beyond the cache.
//
// Compulsory. The kernel begins with an empty cache, so every byte of an operand that the result
// depends on is read at least once, and every byte of the result is written at least once.
//
// Reuse. C[i, j] = sum_k A[i, k] B[k, j], through a cache of S elements, of which A, B and C lie in
// memory before and after. Cut the execution into phases of S transfers; the last may have fewer.
// In a phase at most S elements were in the cache before and S were read, so that at most 2S
// elements of A and at most 2S of B take part. Of C, each element that takes part is in the cache
// at the end or was written: at most 2S. By Loomis and Whitney, a set of points (i, k, j) has at
// most sqrt(|A'| |B'| |C'|) points if its projections have those sizes, so a phase computes at most
// (2S)^(3/2) points. P points take at least floor(P / (2S)^(3/2)) complete phases, each of S
// transfers:
//     transfers >= S floor(P / (2S)^(3/2))
//
// A convolution sums a product over the K positions of its window. At one position, image, filter
// and result are the operands of a product, with parts of the filter that are disjoint for distinct
// positions: |V| = sum_w |V_w| <= sum_w sqrt(|I'| |F_w'| |O'|) <= sqrt(|I'| |O'|) sqrt(K |F'|), by
// Cauchy and Schwarz. A phase computes at most sqrt(K) (2S)^(3/2) points.
#pragma once

#include "analysis/cost/Work.h"

namespace headrace {

/// Bytes that any schedule moves between a cache of `cacheBytes` bytes and what lies beyond it.
/// `compulsory`: the distinct bytes that are read or written.
double leastBytes(const Work &work, double compulsory, double cacheBytes);

} // namespace headrace
