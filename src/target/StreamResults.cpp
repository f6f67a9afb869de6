// Level 3: decides which results are written past the caches.
//
// Before (128 MB, caches of 32 MB):
//   %y = hr.launch @softmax(%x) : tensor<8x16x512x512xf32>
//   module @softmax {}
// After:
//   module @softmax attributes {hr.streams = array<i64: 1>} {}
//
// Why: a cache reads a line from memory before it writes into it, and evicts others. When the last
// cache cannot hold a result, neither helps anybody: whoever reads the result finds its beginning
// in memory. When it hurts: kernels that run slice by slice hand on what is still in cache, and
// kernels that take as long to compute gain nothing, so that their results stay there. All launches
// of a kernel share its code, and have results of one size.
#include "analysis/OperatorWork.h"
#include "dialect/Hr.h"
#include "target/Passes.h"
#include "target/Slices.h"
#include "target/Streams.h"
#include "target/Target.h"
#include "transform/kernels/KernelFunction.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_STREAMRESULTSPASS
#include "target/Passes.h.inc"

namespace {

/// What the last cache holds: halfway between what is found in it and what is found in memory.
double lastCacheBytes(const Rates &rates) {
  size_t levels = rates.memory.size();
  return levels < 2 ? INFINITY
                    : std::sqrt(rates.memory[levels - 2].bytes * rates.memory[levels - 1].bytes);
}

/// Whether the launch waits for memory rather than for arithmetic. Stores past the caches are
/// faster than others together, but each takes longer: what computes meanwhile gains nothing.
bool waitsForMemory(hr::LaunchOp launch, ModuleOp kernel, const Target &target) {
  auto isStatic = [](Type type) { return cast<RankedTensorType>(type).hasStaticShape(); };
  if (!llvm::all_of(launch->getOperandTypes(), isStatic))
    return false;
  if (!kernelFunction(kernel))
    return true;
  auto cost = [&](unsigned i) {
    return static_cast<double>(sizeHint(launch.getCost().getResult(i), {}));
  };
  const Rates &rates = target.machine().rates;
  double bytes = cost(0) + cost(1);
  Work computing = target.workOf(kernel, {}, cost(2));
  computing.streams.clear();
  computing.kernelCalls = 0;
  return bytes / rates.bytesPerMicrosecond(bytes, rates.threads) >
         target.costModel().microseconds(computing, rates.threads);
}

bool exceeds(Value result, double bytes) {
  auto type = cast<RankedTensorType>(result.getType());
  return type.hasStaticShape() && type.getElementType().isIntOrFloat() &&
         static_cast<double>(type.getNumElements()) * type.getElementTypeBitWidth() / 8 > bytes;
}

struct StreamResultsPass : impl::StreamResultsPassBase<StreamResultsPass> {
  using StreamResultsPassBase::StreamResultsPassBase;

  void runOnOperation() override {
    ModuleOp program = getOperation();
    const Target &wanted = findTarget(target);
    if (wanted.engine() != hostEngine)
      return;
    double cache = lastCacheBytes(wanted.machine().rates);
    llvm::StringSet<> sliced;
    SmallVector<hr::LaunchOp> launches;
    program.walk([&](hr::LaunchOp launch) {
      launches.push_back(launch);
      if (launch->hasAttr(kSlicesAttr))
        sliced.insert(launch.getKernel());
    });
    for (hr::LaunchOp launch : launches) {
      SmallVector<int64_t> streams;
      for (auto [i, result] : llvm::enumerate(launch->getResults()))
        if (exceeds(result, cache))
          streams.push_back(static_cast<int64_t>(launch.getInputs().size() + i));
      auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel());
      if (kernel && !streams.empty() && !sliced.contains(launch.getKernel()) &&
          waitsForMemory(launch, kernel, wanted))
        kernel->setAttr(kStreamsAttr, DenseI64ArrayAttr::get(&getContext(), streams));
    }
  }
};

} // namespace
} // namespace headrace
