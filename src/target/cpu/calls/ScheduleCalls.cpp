// Level 1: chooses how library routines are called.
//
// Before:
//   %c = hr.library "int8.gemm" (%a, %w) {parameters = (1, m, 64, 128, ...)}   // %w is constant
// After:
//   %p = hr.constant ...  // the columns of %w in panels, with their sums
//   %c = hr.library "int8.packed_gemm" (%a, %p)
//          {hr.kernel = "gemm1/call", hr.recipe = "call: int8.packed_gemm", parameters = ...}
//
// Blocks that a recipe gives are further parameters. A line that cannot be followed leaves the call
// as the compiler would make it, with the reason in `hr.recipe_refused`.
#include "dialect/ConstantData.h"
#include "runtime/library/ByteProduct.h"
#include "runtime/system/Error.h"
#include "target/cpu/Passes.h"
#include "target/cpu/calls/CallSchedule.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/recipe/KernelModel.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUSCHEDULECALLSPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// The constant in the order in which the routine reads it.
Value packed(hr::LibraryOp call, OpBuilder &b) {
  ArrayRef<AffineExpr> p = call.getParameters().getResults();
  auto number = [&](unsigned i) { return *constantValue(p[i]); };
  ByteProduct product{Gemm::of(0, number(2), number(3), number(4), number(5)), number(12) != 0,
                      number(13) != 0};
  auto constant = call.getInputs()[1].getDefiningOp<hr::ConstantOp>();
  Tensor columns = packedColumns(product, constantTensor(constant.getValue()).as<uint8_t>());
  auto type = RankedTensorType::get(columns.shape(), b.getI8Type());
  return b.create<hr::ConstantOp>(constant.getLoc(), type, tensorAttribute(columns, type));
}

void apply(const CallSchedule &schedule, hr::LibraryOp call) {
  OpBuilder b(call);
  if (schedule.routine != call.getRoutine()) {
    call.getInputsMutable()[1].set(packed(call, b));
    call.setRoutine(schedule.routine);
  }
  if (llvm::all_of(schedule.blocks, [](int64_t block) { return block == 0; }))
    return;
  SmallVector<AffineExpr> parameters(call.getParameters().getResults());
  for (int64_t block : schedule.blocks)
    parameters.push_back(constantDim(block, b.getContext()));
  call.setParameters(symbolMap(parameters, b.getContext()));
}

struct CpuScheduleCallsPass : impl::CpuScheduleCallsPassBase<CpuScheduleCallsPass> {
  void runOnOperation() override {
    Choices choices(getOperation());
    Builder b(&getContext());
    llvm::StringMap<int> count;
    for (auto call : getOperation().getOps<hr::LibraryOp>()) {
      if (!hasSchedule(call))
        continue;
      std::string name = plainName(call.getName()) + "/call";
      if (int number = count[name]++)
        name += "." + std::to_string(number);
      call->setAttr(kKernelAttr, b.getStringAttr(name));
      CallSchedule schedule = proposeFor(call);
      if (std::optional<std::string> given = choices.scheduleOf(name))
        if (std::string reason = take(*given, call, schedule); !reason.empty())
          call->setAttr(kRecipeRefusedAttr, b.getStringAttr(reason));
      apply(schedule, call);
      call->setAttr(kRecipeAttr, b.getStringAttr(schedule.line() + "\n"));
    }
  }

private:
  /// Why the call cannot be made so; empty, and taken, if it can.
  static std::string take(const std::string &text, hr::LibraryOp call, CallSchedule &schedule) {
    try {
      CallSchedule wanted = CallSchedule::parse(text, schedule);
      std::string reason = refusalOf(wanted, call);
      if (!reason.empty())
        return "'" + wanted.line() + "': " + reason;
      schedule = wanted;
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }
};

} // namespace
} // namespace headrace
