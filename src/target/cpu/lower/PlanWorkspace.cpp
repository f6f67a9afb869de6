// Level 3: temporaries inside a kernel come from a workspace its caller provides.
//
// Before:
//   %row = memref.alloc() : memref<1x512xf32>
// After:
//   %row = memref.view %workspace[%c0][] : memref<?xi8> to memref<1x512xf32>
//   (the function's attribute hr.workspace_bytes = 2048)
//
// Allocating inside a hot loop costs more than the loop. A temporary whose size is known only at
// run time is still allocated, and freed at the end of its block. So are all of them, each of
// exactly its size, if accesses are checked: next to each other none could be seen to overflow.
#include "target/Target.h"
#include "target/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUPLANWORKSPACEPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuPlanWorkspacePass : impl::CpuPlanWorkspacePassBase<CpuPlanWorkspacePass> {
  using CpuPlanWorkspacePassBase::CpuPlanWorkspacePassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel.isExternal())
      return;
    Builder types(&getContext());
    auto bytes = MemRefType::get({ShapedType::kDynamic}, types.getI8Type());
    kernel.insertArgument(kernel.getNumArguments(), bytes, {}, kernel.getLoc());
    Value workspace = kernel.getArguments().back();
    int64_t used = 0;
    kernel.walk([&](memref::AllocOp alloc) {
      OpBuilder b(alloc);
      MemRefType type = alloc.getType();
      if (apart)
        alloc.removeAlignmentAttr();
      if (apart || !type.hasStaticShape() || !type.getLayout().isIdentity()) {
        b.setInsertionPoint(alloc->getBlock()->getTerminator());
        b.create<memref::DeallocOp>(alloc.getLoc(), alloc);
        return;
      }
      constexpr int64_t kAlignment = 64;
      Value offset = b.create<arith::ConstantIndexOp>(alloc.getLoc(), used);
      Value view = b.create<memref::ViewOp>(alloc.getLoc(), type, workspace, offset, ValueRange{});
      int64_t size = type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
      used += (size + kAlignment - 1) / kAlignment * kAlignment;
      alloc.replaceAllUsesWith(view);
      alloc.erase();
    });
    kernel->setAttr(kWorkspaceAttr, types.getI64IntegerAttr(used));
  }
};

} // namespace
} // namespace headrace
