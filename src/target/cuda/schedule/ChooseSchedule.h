// Which operations of a kernel are launched, and which of the legal ways is taken for each.
#pragma once

#include "target/cuda/schedule/LegalSchedule.h"

#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace::cuda {

/// The schedules that a user's recipe gives to operations, in program order.
using GivenSchedules = llvm::MapVector<mlir::Operation *, GivenSchedule>;

/// Gives every operation of the kernel that is to be launched its record: those of `given`, and
/// what else is needed. Returns why something that was given is not legal ("C: rows lanes=3':
/// lanes: expected ..."); empty if all is.
std::string chooseSchedules(mlir::func::FuncOp kernel, const DeviceTraits &device,
                            const GivenSchedules &given = {});

/// Whether the operation is a product, of as many rows and columns as tensor cores take, in half
/// precision: then they accumulate it in f32, whatever the type of its result.
bool addsUpOnTensorCores(mlir::Operation *op);

} // namespace headrace::cuda
