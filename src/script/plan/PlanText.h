#pragma once

#include "script/language/Program.h"
#include "script/plan/BlockPlan.h"

namespace headrace::script {

/// "t %*% + sum": the operators of a kernel as statistics name them.
std::string kernelName(const std::vector<std::string> &operators);

/// -explain hops: the graph with the sizes found at run time.
std::string graphText(const BlockPlan &plan, const BasicBlock &block, size_t first,
                      std::span<const int64_t> symbols);

/// -explain runtime of a plan that is not compiled (yet), and why.
std::string hostText(const BlockPlan &plan, const BasicBlock &block, size_t first,
                     std::span<const int64_t> symbols);

/// -explain runtime: the steps; of segments their kernels and what fusing them saves. -explain
/// codegen: also how these kernels were planned, and what was not fused.
std::string runtimeText(BlockPlan &plan, std::span<const int64_t> symbols, bool withPlanning);

} // namespace headrace::script
