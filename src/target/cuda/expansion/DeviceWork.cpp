#include "target/cuda/expansion/DeviceWork.h"

using namespace mlir;

namespace headrace::cuda {

/// What does not fill the device's processors leaves some of them idle.
static double partsOf(double results, double tile, const Machine &machine) {
  return std::clamp(results / (tile * tile), 1.0, static_cast<double>(machine.rates.threads));
}

Work deviceWork(Operation *op, const Machine &machine, double efficiency, double tile) {
  SizeHints sizes = sizeHints(op);
  Work work = workOf(cast<hr::OperatorInterface>(op), sizes);
  for (Work::Arithmetic &part : work.arithmetic) {
    part.kind = OperationKind::Product;
    part.type = rateType(op->getOperand(0).getType());
    part.efficiency = efficiency;
  }
  double results = 1;
  for (AffineExpr size : shapeOf(op->getResult(0)))
    results *= static_cast<double>(sizeHint(size, sizes));
  work.parts = partsOf(results, tile, machine);
  return work;
}

static constexpr double kLibraryTile = 64;

Work deviceLibraryWork(Operation *op, const Machine &machine, double efficiency) {
  Work work = deviceWork(op, machine, efficiency, kLibraryTile);
  work.kernelCalls = 0;
  work.libraryCalls = 1;
  if (op->hasOneUse()) {
    double result = bytesAtHints(op->getResult(0), sizeHints(op));
    work.move(2 * result, 2 * result);
  }
  return work;
}

Work deviceCallWork(double results, double operations, DType type, const Machine &machine,
                    double efficiency) {
  Work work;
  work.kernelCalls = 0;
  work.libraryCalls = 1;
  work.arithmetic.push_back({OperationKind::Product, type, operations, efficiency});
  work.parts = partsOf(results, kLibraryTile, machine);
  return work;
}

} // namespace headrace::cuda
