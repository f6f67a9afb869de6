#include "target/cpu/CodeGen.h"

#include "runtime/Error.h"
#include "runtime/Half.h"
#include "runtime/ThreadPool.h"
#include "target/cpu/ObjectCache.h"
#include "target/cpu/Passes.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Export.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace mlir;

namespace headrace {
namespace {

[[noreturn]] void fail(llvm::StringRef what, llvm::Error error) {
  std::string reason = llvm::toString(std::move(error));
  throw InternalError((what + ": " + reason).str());
}

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Processor &processor) {
  std::string triple = llvm::sys::getProcessTriple(), error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    throw InternalError("no code generator for " + triple + ": " + error);
  llvm::TargetOptions options;
  // a * b + c may round once: contraction is the one licence taken with floating point.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  // JIT mode would pick the large code model; small, position-independent code is faster.
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, processor.name, processor.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive, /*JIT=*/false));
}

/// One kernel module to an object file in memory.
std::unique_ptr<llvm::MemoryBuffer> compileModule(ModuleOp module, llvm::TargetMachine &machine,
                                                  const Machine &host) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    throw InternalError("kernel '" + module.getSymName()->str() + "' has no LLVM translation");
  code->setDataLayout(machine.createDataLayout());
  code->setTargetTriple(machine.getTargetTriple().str());
  // Some processors are tuned to prefer half-width vectors; ours are chosen on purpose.
  std::string width = std::to_string(host.vectorBytes * 8);
  for (llvm::Function &function : *code) {
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  if (llvm::Error error = makeOptimizingTransformer(3, 0, &machine)(code.get()))
    fail("optimization failed", std::move(error));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext *mc = nullptr;
  if (machine.addPassesToEmitMC(passes, mc, stream, /*DisableVerify=*/true))
    throw InternalError("the code generator cannot write objects");
  passes.run(*code);
  return llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes.data(), bytes.size()),
                                              module.getSymName().value_or("kernel"));
}

std::unique_ptr<llvm::MemoryBuffer> findOrCompile(ModuleOp module, llvm::TargetMachine &machine,
                                                  const Processor &processor,
                                                  const ObjectCache &cache) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().useLocalScope());
  std::string key = ObjectCache::key(text, processor.name + " " + processor.features);
  if (auto object = cache.find(key))
    return object;
  std::unique_ptr<llvm::MemoryBuffer> object = compileModule(module, machine, processor.machine);
  cache.store(key, object->getBuffer());
  return object;
}

// Half precision where the processor has no instruction for it: what a compiler's runtime library
// would bring along. Values travel in vector registers, hence the types.
__bf16 truncateToBf16(float value) { return std::bit_cast<__bf16>(floatToBf16(value)); }
__bf16 truncateDoubleToBf16(double value) { return truncateToBf16(narrowToOdd(value)); }
_Float16 truncateToF16(float value) { return std::bit_cast<_Float16>(floatToF16(value)); }
_Float16 truncateDoubleToF16(double value) { return truncateToF16(narrowToOdd(value)); }
float extendF16(_Float16 value) { return f16ToFloat(std::bit_cast<uint16_t>(value)); }

/// Functions generated code may call. Nothing else of the process is visible to it.
void defineRuntimeFunctions(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported};
  };
  using F = float (*)(float);
  using D = double (*)(double);
#define HEADRACE_UNARY(name)                                                                       \
  add(#name "f", static_cast<F>(::name##f));                                                       \
  add(#name, static_cast<D>(::name))
  HEADRACE_UNARY(exp);
  HEADRACE_UNARY(exp2);
  HEADRACE_UNARY(expm1);
  HEADRACE_UNARY(log);
  HEADRACE_UNARY(log1p);
  HEADRACE_UNARY(log2);
  HEADRACE_UNARY(log10);
  HEADRACE_UNARY(sin);
  HEADRACE_UNARY(cos);
  HEADRACE_UNARY(tan);
  HEADRACE_UNARY(asin);
  HEADRACE_UNARY(acos);
  HEADRACE_UNARY(atan);
  HEADRACE_UNARY(sinh);
  HEADRACE_UNARY(cosh);
  HEADRACE_UNARY(tanh);
  HEADRACE_UNARY(asinh);
  HEADRACE_UNARY(acosh);
  HEADRACE_UNARY(atanh);
  HEADRACE_UNARY(erf);
  HEADRACE_UNARY(cbrt);
  HEADRACE_UNARY(sqrt);
  HEADRACE_UNARY(floor);
  HEADRACE_UNARY(ceil);
  HEADRACE_UNARY(round);
  HEADRACE_UNARY(roundeven);
  HEADRACE_UNARY(trunc);
#undef HEADRACE_UNARY
  add("powf", static_cast<float (*)(float, float)>(::powf));
  add("pow", static_cast<double (*)(double, double)>(::pow));
  add("fmodf", static_cast<float (*)(float, float)>(::fmodf));
  add("fmod", static_cast<double (*)(double, double)>(::fmod));
  add("atan2f", static_cast<float (*)(float, float)>(::atan2f));
  add("atan2", static_cast<double (*)(double, double)>(::atan2));
  add("fmaf", static_cast<float (*)(float, float, float)>(::fmaf));
  add("fma", static_cast<double (*)(double, double, double)>(::fma));
  add("__truncsfbf2", &truncateToBf16);
  add("__truncdfbf2", &truncateDoubleToBf16);
  add("__truncsfhf2", &truncateToF16);
  add("__truncdfhf2", &truncateDoubleToF16);
  add("__extendhfsf2", &extendF16);
  add("malloc", &::malloc);
  add("free", &::free);
  add("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(&::memcpy));
  add("memset", static_cast<void *(*)(void *, int, size_t)>(&::memset));
  add("memmove", static_cast<void *(*)(void *, const void *, size_t)>(&::memmove));
  if (llvm::Error error =
          jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    fail("cannot define runtime functions", std::move(error));
}

} // namespace

Processor findProcessor(StringRef name) {
  auto host = llvm::sys::getHostCPUFeatures();
  auto has = [&](StringRef feature) { return host.lookup(feature); };
  Processor processor;
  Machine &machine = processor.machine;
  auto setWidth = [&](int64_t bytes) {
    machine.vectorBytes = bytes;
    machine.vectorRegisters = bytes == 64 ? 32 : 16;
  };
  if (name == "native") {
    processor.name = llvm::sys::getHostCPUName().str();
    llvm::SubtargetFeatures features;
    for (auto &feature : host)
      features.AddFeature(feature.first(), feature.second);
    processor.features = features.getString();
    setWidth(has("avx512f") && has("avx512vl") ? 64 : has("avx2") && has("fma") ? 32 : 16);
    return processor;
  }
  processor.name = name.str();
  bool runs = false;
  if (name == "x86-64-v2") {
    runs = has("sse4.2");
    setWidth(16);
  } else if (name == "x86-64-v3") {
    runs = has("avx2") && has("fma");
    setWidth(32);
  } else if (name == "x86-64-v4") {
    runs = has("avx512f") && has("avx512vl");
    setWidth(64);
  } else {
    throw Error(ErrorKind::InvalidArgument,
                "unknown processor '" + name.str() +
                    "'; expected native, x86-64-v2, x86-64-v3 or x86-64-v4");
  }
  if (!runs)
    throw Error(ErrorKind::InvalidArgument,
                "this machine cannot run code for '" + name.str() + "'");
  return processor;
}

CompiledKernels compileKernels(ModuleOp program, const Processor &processor) {
  initializeTargets();
  SmallVector<ModuleOp> modules(program.getOps<ModuleOp>());
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(modules.size());
  ObjectCache cache = ObjectCache::user();
  ThreadPool::global().parallelFor(
      static_cast<int64_t>(modules.size()), 1, [&](int64_t begin, int64_t end, int) {
        std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(processor);
        for (int64_t i = begin; i < end; ++i)
          objects[i] = findOrCompile(modules[i], *machine, processor, cache);
      });
  cache.trim();

  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> created = llvm::orc::LLJITBuilder().create();
  if (!created)
    fail("cannot link generated code", created.takeError());
  std::shared_ptr<llvm::orc::LLJIT> jit = std::move(*created);
  defineRuntimeFunctions(*jit);
  for (auto &object : objects)
    if (llvm::Error error = jit->addObjectFile(std::move(object)))
      fail("cannot link generated code", std::move(error));

  CompiledKernels result;
  for (ModuleOp module : modules) {
    auto address = jit->lookup(*module.getSymName());
    if (!address)
      fail("cannot find kernel '" + module.getSymName()->str() + "'", address.takeError());
    CompiledKernels::Kernel &kernel = result.kernels[*module.getSymName()];
    kernel.function = address->toPtr<KernelFn>();
    kernel.workspaceBytes = workspaceOf(module);
  }
  result.code = jit;
  return result;
}

} // namespace headrace
