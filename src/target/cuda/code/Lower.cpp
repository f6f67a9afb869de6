// Level 3 -> 4: device functions in terms of LLVM and NVVM.
//
// Before:
//   gpu.func @k(%x: !llvm.ptr<1>) kernel { scf.for ... { math.exp ... } }
// After:
//   llvm.func @k(%x: !llvm.ptr<1>) attributes {nvvm.kernel} { ... llvm.call @hr_exp_f32 ... }
//
// Math functions are calls into a module of our own (DeviceMath.c) that is linked in. Indices
// have 32 bits if all memory of a kernel is that small: divisions cost a fraction then.
#include "target/cuda/Passes.h"
#include "target/cuda/write/KernelWriter.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDALOWERPASS
#include "target/cuda/Passes.h.inc"

namespace {

/// Whether the back end has an instruction for it.
bool isNative(Operation &op) {
  return isa<math::FmaOp, math::RoundEvenOp, math::RoundOp, math::TruncOp, math::CopySignOp,
             math::AbsIOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp>(
      op);
}

/// The function that computes it: hr_exp_f32; integer powers are hr_ipowi_i64.
LLVM::LLVMFuncOp deviceFunction(gpu::GPUModuleOp module, Operation &op, Type type) {
  StringRef bits = type.isF64() ? "f64" : isa<FloatType>(type) ? "f32" : "i64";
  std::string name = ("hr_" + op.getName().stripDialect() + "_" + bits).str();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Type> operands(op.getNumOperands(), type);
  return b.create<LLVM::LLVMFuncOp>(op.getLoc(), name, LLVM::LLVMFunctionType::get(type, operands));
}

/// f16, bf16 and small integers are computed in the next wider type that has functions.
void callDeviceMath(gpu::GPUModuleOp module) {
  SmallVector<Operation *> calls;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()) && !isNative(*op))
      calls.push_back(op);
    else if (isa<arith::RemFOp>(op))
      calls.push_back(op);
  });
  for (Operation *op : calls) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType(), wide = type;
    if (isa<IntegerType>(type))
      wide = b.getI64Type();
    else if (!type.isF64())
      wide = b.getF32Type();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (isa<IntegerType>(operand.getType()) && isa<FloatType>(wide))
        operand = b.create<arith::SIToFPOp>(loc, wide, operand);
      else if (operand.getType() != wide)
        operand = isa<FloatType>(wide) ? b.create<arith::ExtFOp>(loc, wide, operand).getResult()
                                       : b.create<arith::ExtSIOp>(loc, wide, operand).getResult();
      operands.push_back(operand);
    }
    LLVM::LLVMFuncOp function = deviceFunction(module, *op, wide);
    Value result = b.create<LLVM::CallOp>(loc, function, operands).getResult();
    if (type != wide)
      result = isa<FloatType>(wide) ? b.create<arith::TruncFOp>(loc, type, result).getResult()
                                    : b.create<arith::TruncIOp>(loc, type, result).getResult();
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

/// Tensor maps are parameters of 128 bytes, by value.
void passTensorMapsByValue(ModuleOp kernel, gpu::GPUModuleOp device) {
  constexpr int64_t kBytes = 128, kAlignment = 64;
  Builder b(kernel.getContext());
  for (Attribute entry : kernel->getAttrOfType<ArrayAttr>(cuda::kLaunchesAttr)) {
    auto launch = cast<DictionaryAttr>(entry);
    auto function = device.lookupSymbol<LLVM::LLVMFuncOp>(launch.getAs<StringAttr>("function"));
    for (auto [i, parameter] : llvm::enumerate(launch.getAs<ArrayAttr>("parameters"))) {
      if (!cast<DictionaryAttr>(parameter).contains("tensor_map"))
        continue;
      function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                          TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), kBytes)));
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          b.getI64IntegerAttr(kAlignment));
      function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
    }
  }
}

void addConversions(OpPassManager &manager, unsigned indexBits) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertSCFToCFPass());
  ConvertGpuOpsToNVVMOpsOptions device;
  device.indexBitwidth = indexBits;
  device.useBarePtrCallConv = true;
  manager.addPass(createConvertGpuOpsToNVVMOps(device));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertNVVMToLLVMPass());
  ArithToLLVMConversionPassOptions arithmetic;
  arithmetic.indexBitwidth = indexBits;
  manager.addPass(createArithToLLVMConversionPass(arithmetic));
  ConvertIndexToLLVMPassOptions index;
  index.indexBitwidth = indexBits;
  manager.addPass(createConvertIndexToLLVMPass(index));
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

struct CudaLowerPass : impl::CudaLowerPassBase<CudaLowerPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager all(ModuleOp::getOperationName());
    addConversions(all.nest<gpu::GPUModuleOp>(), 64);
    all.getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    RewritePatternSet divisions(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(divisions);
    if (failed(applyPatternsAndFoldGreedily(module, std::move(divisions))))
      return signalPassFailure();
    for (auto device : module.getOps<gpu::GPUModuleOp>())
      callDeviceMath(device);
    auto bits = module->getAttrOfType<IntegerAttr>(cuda::kIndexBitsAttr);
    OpPassManager conversions(ModuleOp::getOperationName());
    addConversions(conversions.nest<gpu::GPUModuleOp>(), bits ? bits.getInt() : 64);
    if (failed(runPipeline(conversions, module)))
      return signalPassFailure();
    for (auto device : module.getOps<gpu::GPUModuleOp>())
      passTensorMapsByValue(module, device);
  }
};

} // namespace
} // namespace headrace
