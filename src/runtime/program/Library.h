// Routines that steps of programs call by name: libraries', and our own.
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"

#include <optional>
#include <span>
#include <string_view>

namespace headrace {

/// Does one library step; `buffers` are the step's operands in order.
using LibraryFn = void (*)(const Step &step, void *const *buffers,
                           std::span<const int64_t> parameters, ThreadPool &pool);

/// The routine of that name; null when it is unknown or its library is not on this machine.
///
/// "copy": operand 0 to operand 1; parameters: bytes.
/// "check.index", "check.divisor", "check.target": throw Error (ValueCheck.h).
/// "openblas.sgemm", "openblas.dgemm": C = op(A) op(B) (Gemm.h), row-major f32 or f64, operands A,
///   B, C; parameters: batch, m, n, k, transA, transB, strideA, strideB, strideC (elements from one
///   matrix of the batch to the next, 0 = shared), lda, ldb, ldc; and, or not at all, rows, columns
///   and depth of the blocks that the work is cut into (0 = as the sizes suggest).
/// "openblas.attention", "openblas.biased_attention": (Attention.h), f32, operands query, key,
///   value, bias if any, result; parameters: the members of Attention in order.
/// "int8.gemm": C = op(A) op(B) of bytes, in i32 (ByteProduct.h), operands A, B, C; parameters:
///   those of "openblas.sgemm", then whether A is unsigned, whether B is.
/// "int8.packed_gemm": the same for a B that is in panels (packedColumns).
/// "int8.conv", "int8.packed_conv": the same with the patches of the image A as rows; parameters
///   after those: the members of BytePatches in order, three of each size.
/// "int8.finished_gemm", "int8.finished_conv": the same for packed columns, with bytes as results
///   (Int8Epilogue.h), operands A, B, the finish's record, C; of a convolution each run of a window
///   takes whole steps of B; parameters after those: the form of the finish, the members of
///   BytePlaces in order.
/// "int8.added_gemm", "int8.added_conv": the same with another tensor, which the finish adds, as
///   operand before the last.
/// "int8.finished_depthwise", "int8.added_depthwise": the same of convolutions of each channel
///   (ByteDepthwise.h); parameters: rows, whether the image is unsigned, whether the filter is,
///   then as above from BytePatches on.
/// "openblas.lu.f32", "openblas.lu.f64", "openblas.cholesky.f32", "openblas.cholesky.f64": systems
///   of equations (Systems.h), operands matrices, right-hand sides, solutions; parameters: batch,
///   unknowns, columns, whether numbers are complex.
/// "sort.f32", "sort.f64", "sort.i32", "sort.i64": positions in order (Sort.h), operands values and
///   positions; parameters: outer, size, inner, taken, descending.
/// "forest.f32", "forest.f64": sums over decision trees (Forest.h), operands rows, roots, depths,
///   nodes, leaves, weights, result; parameters: the members of ForestSizes in order.
///
/// Results do not depend on the number of threads.
LibraryFn findLibraryRoutine(std::string_view name);

/// How to get the library of a routine that is not on this machine; empty if it is unknown.
std::string_view howToGet(std::string_view routine);

/// Numbers of operands and parameters of the routine of that name; nullopt for an unknown one.
struct LibraryShape {
  size_t operands, parameters;
  bool takesSizes = false; // any number of them, as further parameters
  bool writes = true;      // its last operand
  size_t optional = 0;     // further parameters, all of them or none

  bool fits(const Step &step) const {
    return step.operands.size() == operands &&
           (takesSizes ? step.parameters.size() >= parameters
                       : step.parameters.size() == parameters ||
                             step.parameters.size() == parameters + optional);
  }
};
std::optional<LibraryShape> libraryShape(std::string_view name);

/// The fault in a library step with these values of its parameters: it would read or write beyond
/// its operands, whose sizes are in bytes. Empty for a sound step.
std::string libraryFault(const Step &step, std::span<const int64_t> parameters,
                         std::span<const int64_t> operandBytes);

/// Whether the library ("openblas") can be loaded here.
bool libraryAvailable(std::string_view library);

struct LibraryInfo {
  std::string_view name;
  bool (*isHere)();
  std::string_view howToGet;
};
struct LibraryRoutine {
  std::string_view name;
  std::string_view library; // empty: our own
  LibraryFn function;
  LibraryShape shape;
  std::string (*fault)(std::span<const int64_t> parameters, std::span<const int64_t> operandBytes);
};
/// The tables that the functions above look into (runtime/library/Routines.cpp).
std::span<const LibraryInfo> neededLibraries();
std::span<const LibraryRoutine> shippedRoutines();

} // namespace headrace
