// Tables in an object file that describe the compiled code to the runtime that runs it. They are
// part of the package format; a change of them is a change of codeAbi.
#pragma once

#include "runtime/program/Program.h"

#include <cstdint>

namespace headrace {

/// The version of everything in this file and of the kernels' signature.
inline constexpr uint32_t codeAbi = 1;

/// The kernels of one CPU level. The object needs nothing from any library: kernels call
/// functions through `imports`, which the runtime fills in by name.
struct CodeTable {
  uint32_t abi;
  uint32_t kernelCount;
  const char *const *kernelNames;
  const KernelFn *kernels;
  uint32_t importCount;
  uint32_t reserved;
  const char *const *importNames;
  void **imports;
};

/// The one symbol of a shared object in a package.
inline constexpr char codeTableSymbol[] = "headrace_code";

/// A whole package inside a program: headrace_image of the C interface.
struct PackageImage {
  uint32_t abi;
  uint32_t codeCount;
  const CodeTable *const *code; // in the manifest's order
  const void *manifest;
  uint64_t manifestBytes;
  const void *weights;
  uint64_t weightsBytes;
};

} // namespace headrace
