// Kernels of our own on a device: they read operands in any order.
#include "target/cuda/expansion/DeviceWork.h"
#include "target/cuda/expansion/Expansions.h"

using namespace mlir;

namespace headrace::cuda {

namespace {

template <class Op> class Generated final : public Expansion {
public:
  explicit Generated(double efficiency) : efficiency(efficiency) {}
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<Op>(op); }
  Work work(Operation *op, const Machine &machine) const override {
    return deviceWork(op, machine, efficiency, /*tile=*/128);
  }
  void rewrite(Operation *, const Machine &, RewriterBase &) const override {}

private:
  double efficiency;
};

} // namespace

const Expansion &generatedContraction() {
  static const Generated<hr::ContractOp> expansion(0.9);
  return expansion;
}

const Expansion &generatedConvolution() {
  static const Generated<hr::ConvOp> expansion(0.8);
  return expansion;
}

} // namespace headrace::cuda
