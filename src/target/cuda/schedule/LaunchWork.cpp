#include "target/cuda/schedule/LaunchWork.h"

#include "analysis/OperatorWork.h"
#include "target/cuda/schedule/ProposeSchedule.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace headrace::cuda {

/// The type in whose units a product under this schedule is computed.
static DType typeOfProduct(Operation *op, const Schedule &schedule) {
  DType read = rateType(op->getOperand(0).getType());
  bool isHalf = read == DType::F16 || read == DType::BF16;
  // Without tensor cores, halves are multiplied as floats are.
  return schedule.kind == Schedule::Kind::Product && isHalf ? DType::F32 : read;
}

Work launchWork(ModuleOp kernel, double operations, const DeviceTraits &device) {
  Work work;
  Work::Arithmetic all{OperationKind::Simple, DType::F32, operations};
  kernel.walk([&](Operation *op) {
    std::optional<Schedule> schedule = Schedule::of(op);
    if (!schedule || !isProduct(schedule->kind))
      return;
    std::optional<FusedProduct> fused = fusedProductOf(op);
    all.kind = OperationKind::Product;
    all.type = typeOfProduct(fused ? fused->product.op.getOperation() : op, *schedule);
    if (fused)
      all.efficiency = productShare(fused->product, *schedule, device.multiprocessors);
  });
  work.arithmetic.push_back(all);
  work.parts = static_cast<double>(device.multiprocessors);
  return work;
}

std::optional<Work> launchWorkUnder(ModuleOp kernel, const ScheduleRecord &schedule,
                                    double operations, const DeviceTraits &device) {
  SmallVector<Operation *> able;
  kernel.walk([&](Operation *op) {
    std::optional<Schedule> own = Schedule::of(op);
    if (own && !refusalOf(op, Schedule::of(schedule, *own), device.hasWarpgroups))
      able.push_back(op);
  });
  if (able.size() != 1)
    return std::nullopt;
  Operation *op = able.front();
  Attribute own = op->getAttr(kScheduleAttr);
  auto restored = llvm::make_scope_exit([&] { op->setAttr(kScheduleAttr, own); });
  Schedule given = Schedule::of(schedule, *Schedule::of(op));
  op->setAttr(kScheduleAttr, given.attribute(op->getContext()));
  return launchWork(kernel, operations, device);
}

} // namespace headrace::cuda
