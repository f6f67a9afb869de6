// Kernels of our own on a device: they read operands in any order.
#include "target/cuda/expansion/Estimates.h"
#include "target/cuda/expansion/Expansions.h"

using namespace mlir;

namespace headrace::cuda {

double deviceMicroseconds(Operation *op, double efficiency, double tile) {
  constexpr double processors = 132;
  constexpr double singles = 50e6, halves = 750e6; // operations a microsecond
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  double rate = type.getElementTypeBitWidth() <= 16 ? halves : singles;
  double results = sizeOrGuess(elementCount(shapeOf(result), op->getContext()));
  double filled = std::min(1.0, std::max(1.0, results / (tile * tile)) / processors);
  double moved = bytesOf(result);
  for (Value operand : op->getOperands())
    moved += bytesOf(operand);
  return std::max(operationsOf(op) / (rate * efficiency * filled),
                  moved / kDeviceBytesPerMicrosecond);
}

namespace {

template <class Op> class Generated final : public Expansion {
public:
  explicit Generated(double efficiency) : efficiency(efficiency) {}
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<Op>(op); }
  double estimate(Operation *op, const Machine &) const override {
    return deviceMicroseconds(op, efficiency, /*tile=*/128);
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
