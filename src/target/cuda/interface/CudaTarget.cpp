// CUDA as a target: its passes, in order.
#include "target/cuda/interface/CudaTarget.h"

#include "runtime/cuda/CudaEngine.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/DeviceLibrary.h"
#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/ThreadPool.h"
#include "target/cuda/DeviceRates.h"
#include "target/cuda/Passes.h"
#include "target/cuda/code/DeviceMath.h"
#include "target/cuda/code/Launches.h"
#include "target/cuda/code/Ptx.h"
#include "target/cuda/expansion/Expansions.h"
#include "target/cuda/schedule/LaunchRecipe.h"
#include "target/cuda/schedule/LaunchSpace.h"
#include "target/cuda/schedule/LaunchWork.h"
#include "target/cuda/write/WhyNoLaunches.h"
#include "transform/kernels/KernelStages.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/Config/llvm-config.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace headrace {
namespace {

void addFunctionPasses(OpPassManager &manager, const Target &) {
  manager.addPass(createCudaWriteKernelsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createCudaVerifyFunctionsPass());
}

void addLoweringPasses(OpPassManager &manager, const Target &) {
  manager.addPass(createCudaLowerPass());
}

class CudaTarget final : public Target {
public:
  CudaTarget(StringRef name, cuda::Architecture architecture)
      : fullName(name.str()), architecture(std::move(architecture)) {
    // A thread loads 16 bytes at a time.
    description.vectorBytes = 16;
    description.vectorRegisters = 64;
    // Thousands of threads, each of which may take any point: nothing is gained by walking rows in
    // cache or by packing weights for registers, and operands are read in any order.
    description.policy = {.narrowProducts = true,
                          .readsNarrow = true,
                          .walksRows = false,
                          .packsWeights = false,
                          .comparesAllThreads = true,
                          .recipes = KernelPolicy::Recipes::Launches};
    description.copies = cuda::copyRates();
    description.setRates(
        cuda::deviceRates(this->architecture.name, this->architecture.multiprocessors));
  }

  StringRef name() const override { return fullName; }
  const Machine &machine() const override { return description; }
  Work workOf(ModuleOp kernel, ArrayRef<int64_t>, double operations) const override {
    return cuda::launchWork(kernel, operations, traits());
  }
  std::optional<Work> workUnder(ModuleOp kernel, const ScheduleRecord &schedule, ArrayRef<int64_t>,
                                double operations) const override {
    return cuda::launchWorkUnder(kernel, schedule, operations, traits());
  }
  ArrayRef<const Expansion *> expansions() const override {
    static const Expansion *const all[] = {
        &cuda::generatedContraction(), &cuda::generatedConvolution(),
        &generatedAttention(),         &cuda::cuBlasContraction(),
        &cuda::cuDnnConvolution(),     &cuda::cuDnnFusedConvolution(),
        &cuda::cuDnnFusedContraction()};
    return all;
  }

  void registerDialects(DialectRegistry &registry) const override {
    registry
        .insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                cf::ControlFlowDialect, func::FuncDialect, gpu::GPUDialect, linalg::LinalgDialect,
                LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect,
                scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
    registerBuiltinDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }

  void addSchedulePasses(OpPassManager &manager) const override {
    manager.addPass(createCudaSplitResultsPass());
    manager.addPass(createCudaSumInSinglePass());
    CudaAttachSchedulePassOptions options;
    options.warpgroups = traits().hasWarpgroups;
    options.multiprocessors = traits().multiprocessors;
    manager.addPass(createCudaAttachSchedulePass(options));
  }

  std::vector<std::unique_ptr<ScheduleSpace>> schedules(ModuleOp kernel) const override {
    std::vector<std::unique_ptr<ScheduleSpace>> spaces;
    kernel.walk([&](Operation *op) {
      if (cuda::Schedule::of(op))
        spaces.push_back(std::make_unique<cuda::LaunchSpace>(op, traits()));
    });
    return spaces;
  }

  ArrayRef<TargetPhase> phases() const override {
    static constexpr TargetPhase all[] = {
        {"functions", "level 3: device functions over memory, and their launches",
         addFunctionPasses},
        {"llvm", "level 4: device functions as LLVM and NVVM dialects; then PTX",
         addLoweringPasses},
    };
    return all;
  }

  std::string unsupportedReason(ModuleOp kernel) const override {
    return cuda::whyNoLaunches(kernel);
  }
  std::string unsupportedReason(StringRef routine) const override {
    return cuda::isDeviceRoutine(routine.str()) ? ""
                                                : "no routine '" + routine.str() + "' of devices";
  }

  void attachRecipe(func::FuncOp program, StringRef recipe) const override {
    std::vector<StageLine> lines;
    for (const cuda::LaunchLine &line : cuda::parseLaunches(recipe))
      lines.push_back({line.stage, line.given.text(), line.line});
    attachToKernels(program, lines);
  }

  std::string engine() const override { return std::string(cuda::engine().name()); }
  ProcessorNeeds needs() const override { return {engine(), architecture.name, {}}; }
  CompiledKernels compile(ArrayRef<ModuleOp> kernels) const override {
    return {{}, images(kernels), nullptr};
  }
  PackagedKernels compileAot(ArrayRef<ModuleOp> kernels) const override {
    return {{}, images(kernels)};
  }

private:
  /// Needs no device.
  std::vector<KernelImage> images(ArrayRef<ModuleOp> modules) const {
    std::vector<KernelImage> kernels(modules.size());
    FileCache cache = FileCache::user("ptx");
    CompilerSection::Pause pause; // its threads are in sections of their own
    ThreadPool::global().parallelFor(static_cast<int64_t>(modules.size()), 1,
                                     [&](int64_t begin, int64_t end, int) {
                                       CompilerSection section;
                                       for (int64_t i = begin; i < end; ++i) {
                                         pollInterruption();
                                         CompilerSection::yieldToFork();
                                         kernels[i] = compileKernel(modules[i], cache);
                                       }
                                     });
    return kernels;
  }

  cuda::DeviceTraits traits() const {
    return {architecture.name == "sm_90a", architecture.multiprocessors};
  }

  KernelImage compileKernel(ModuleOp module, const FileCache &cache) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os, OpPrintingFlags().useLocalScope());
    std::string key =
        FileCache::key({LLVM_VERSION_STRING, cuda::deviceMathText(), architecture.name, text});
    std::optional<std::string> ptx = cache.find(key);
    if (!ptx) {
      ptx = cuda::writePtx(module, architecture);
      cache.store(key, *ptx);
    }
    KernelImage kernel;
    kernel.kernel = module.getSymName()->str();
    kernel.image = {"k_" + FileCache::key({*ptx}).substr(0, 24), std::move(*ptx)};
    kernel.launches = cuda::launchesOf(module);
    kernel.workspaceBytes = cuda::workspaceOf(module);
    return kernel;
  }

  std::string fullName;
  cuda::Architecture architecture;
  Machine description;
};

} // namespace

std::unique_ptr<const Target> makeCudaTarget(StringRef fullName, StringRef processor) {
  std::string name = processor.str();
  if (name.empty())
    name = cuda::hostArchitecture();
  if (name.empty())
    name = "sm_90a";
  cuda::Architecture architecture = cuda::findArchitecture(name);
  if (int64_t count = cuda::hostMultiprocessors(); count > 0 && name == cuda::hostArchitecture())
    architecture.multiprocessors = count;
  return std::make_unique<CudaTarget>(fullName, std::move(architecture));
}

} // namespace headrace
