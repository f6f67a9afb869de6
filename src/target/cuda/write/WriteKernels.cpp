// Level 2 -> 3: device functions for what is launched.
//
// Before:
//   module @mish { func.func @mish(%x: memref<64xf32>, %y: memref<64xf32>) {
//     %r = linalg.generic ... {cuda.schedule = {kind = "points", threads = 256, vector = 4}} } }
// After:
//   module @mish attributes {cuda.launches = [{function = "mish", grid = ..., ...}]} {
//     gpu.module @mish_device { gpu.func @mish(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel ... } }
//
// A launch stores into the kernel's results, or into a workspace that its launches share.
#include "dialect/Hr.h"
#include "target/cuda/Passes.h"
#include "target/cuda/write/Templates.h"
#include "transform/kernels/KernelFunction.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDAWRITEKERNELSPASS
#include "target/cuda/Passes.h.inc"

namespace {
using namespace cuda;

constexpr int64_t kAlignment = 256;

class ModuleWriter {
public:
  explicit ModuleWriter(ModuleOp module)
      : module(module), function(kernelFunction(module)), b(module.getContext()),
        used(constantDim(0, module.getContext())) {}

  LogicalResult run() {
    b.setInsertionPointToEnd(module.getBody());
    device = b.create<gpu::GPUModuleOp>(function.getLoc(), (function.getName() + "_device").str());
    if (failed(placeGiven()))
      return failure();
    SmallVector<Operation *> launched;
    function.walk([&](Operation *op) {
      if (op->hasAttr(kScheduleAttr))
        launched.push_back(op);
    });
    ArrayRef<Operation *> rest = launched;
    while (!rest.empty()) {
      size_t count = 1;
      while (count < rest.size() && shareLaunch(rest.front(), rest[count]))
        ++count;
      if (failed(write(rest.take_front(count), launched.size() > count)))
        return failure();
      rest = rest.drop_front(count);
    }
    if (failed(verifyResults(launched)))
      return failure();
    module->setAttr(kLaunchesAttr, b.getArrayAttr(launches));
    module->setAttr(cuda::kWorkspaceAttr, AffineMapAttr::get(symbolMap({used}, b.getContext())));
    module->setAttr(kIndexBitsAttr, b.getI64IntegerAttr(indexBits()));
    function.erase();
    return success();
  }

private:
  /// 32 if every element has an index of that size, with room for the points beyond the end
  /// that some threads compute and drop.
  int64_t indexBits() {
    for (auto &[value, memory] : memories) {
      auto count = constantValue(elementCount(memory.shape, b.getContext()));
      if (!count || *count > (int64_t{1} << 30))
        return 64;
    }
    return 32;
  }

  LogicalResult placeGiven() {
    for (Operation &op : function.getBody().front()) {
      if (auto given = dyn_cast<bufferization::ToTensorOp>(op)) {
        TensorMemory memory;
        memory.place.index = cast<BlockArgument>(given.getMemref()).getArgNumber();
        if (failed(describe(given, memory)))
          return failure();
        memories[given] = memory;
      } else if (auto result = dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
        int operand = cast<BlockArgument>(result.getDest()).getArgNumber();
        if (!results.try_emplace(result.getSource(), operand).second)
          return function.emitError("expected a value to be one result, got it as two");
      }
    }
    return success();
  }

  /// Every result of the kernel must be written by a launch; empty ones need none.
  LogicalResult verifyResults(ArrayRef<Operation *> launched) {
    for (auto result : function.getOps<bufferization::MaterializeInDestinationOp>()) {
      auto type = cast<RankedTensorType>(result.getSource().getType());
      bool isEmpty = llvm::is_contained(type.getShape(), 0);
      if (!isEmpty && !llvm::is_contained(launched, result.getSource().getDefiningOp()))
        return function.emitError("no launch writes the kernel's operand ")
               << results.lookup(result.getSource());
    }
    return success();
  }

  LogicalResult describe(Value tensor, TensorMemory &memory) {
    auto shape = kernelShape(tensor);
    if (!shape)
      return function.emitError("a tensor of unknown size: ") << tensor.getType();
    memory.shape = *shape;
    memory.element = cast<RankedTensorType>(tensor.getType()).getElementType();
    return success();
  }

  TensorPlace allocate(AffineExpr bytes) {
    TensorPlace place{TensorPlace::Kind::Workspace, 0, used};
    used = normalized(used + bytes.ceilDiv(kAlignment) * kAlignment);
    return place;
  }

  /// Results over the same points are computed together: what both read is read once.
  static bool shareLaunch(Operation *a, Operation *c) {
    Schedule ofA = *Schedule::of(a), ofC = *Schedule::of(c);
    auto shape = kernelShape(a->getResult(0));
    return ofA.kind == Schedule::Kind::Points &&
           ofA.attribute(a->getContext()) == ofC.attribute(a->getContext()) &&
           shape == kernelShape(c->getResult(0));
  }

  FailureOr<TensorMemory> place(Value value) {
    TensorMemory memory;
    if (failed(describe(value, memory)))
      return failure();
    if (auto result = results.find(value); result != results.end())
      memory.place.index = result->second;
    else
      memory.place = allocate(elementCount(memory.shape, b.getContext()) *
                              std::max(1u, memory.element.getIntOrFloatBitWidth() / 8));
    memory.written = true;
    return memory;
  }

  LogicalResult write(ArrayRef<Operation *> ops, bool isOneOfSeveral) {
    std::vector<std::pair<Operation *, TensorMemory>> placed;
    for (Operation *op : ops) {
      FailureOr<TensorMemory> memory = place(op->getResult(0));
      if (failed(memory))
        return failure();
      placed.emplace_back(op, *memory);
    }
    std::string name = function.getName().str();
    if (isOneOfSeveral)
      name += "_" + std::to_string(launches.size());
    Stage stage{ops.front(),
                *Schedule::of(ops.front()),
                placed.front().second,
                {placed.begin() + 1, placed.end()},
                memories,
                device,
                name,
                launches,
                [&](AffineExpr bytes) { return allocate(bytes); }};
    if (failed(writeStage(stage)))
      return failure();
    for (auto &[op, memory] : placed) {
      memory.written = false;
      memories[op->getResult(0)] = memory;
    }
    return success();
  }

  static LogicalResult writeStage(Stage &stage) {
    switch (stage.schedule.kind) {
    case Schedule::Kind::Rows:
      return writeRows(stage);
    case Schedule::Kind::Columns:
      return writeColumns(stage);
    case Schedule::Kind::Tiles:
      return writeTiles(stage);
    case Schedule::Kind::Product:
      return writeProduct(stage);
    case Schedule::Kind::TensorCores:
      return writeTensorCores(stage);
    case Schedule::Kind::Warpgroups:
      return writeWarpgroups(stage);
    case Schedule::Kind::Points:
      return writePoints(stage);
    }
    llvm_unreachable("no such schedule");
  }

  ModuleOp module;
  func::FuncOp function;
  gpu::GPUModuleOp device;
  OpBuilder b;
  PointWriter::Memories memories;
  llvm::DenseMap<Value, int> results; // to which operand a value goes
  SmallVector<Attribute> launches;
  AffineExpr used; // bytes of the workspace
};

struct CudaWriteKernelsPass : impl::CudaWriteKernelsPassBase<CudaWriteKernelsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
                    scf::SCFDialect>();
  }

  void runOnOperation() override {
    if (failed(ModuleWriter(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
