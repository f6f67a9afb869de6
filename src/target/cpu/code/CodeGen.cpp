#include "target/cpu/code/CodeGen.h"

#include "analysis/cost/ProcessorRates.h"
#include "analysis/cost/RatesFile.h"
#include "runtime/program/RuntimeFunctions.h"
#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Sanitized.h"
#include "runtime/system/ThreadPool.h"
#include "target/Streams.h"
#include "target/cpu/Passes.h"
#include "target/cpu/lower/CheckedAccesses.h"
#include "target/cpu/lower/CopyLoops.h"
#include "target/cpu/lower/OddVectors.h"
#include "target/cpu/lower/SplitVectors.h"
#include "target/cpu/lower/StreamStores.h"
#include "transform/recipe/Intrinsic.h"

#include "llvm/Config/llvm-config.h"
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

#include <algorithm>
#include <mutex>

using namespace mlir;

namespace headrace {
namespace {

[[noreturn]] void fail(llvm::StringRef what, llvm::Error error) {
  std::string reason = llvm::toString(std::move(error));
  throw InternalError((what + ": " + reason).str());
}

void initializeTargets() {
  CompilerSection section;
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

std::string writeObject(llvm::Module &code, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext *mc = nullptr;
  if (machine.addPassesToEmitMC(passes, mc, stream, /*DisableVerify=*/true))
    throw InternalError("the code generator cannot write objects");
  passes.run(code);
  return std::string(bytes.data(), bytes.size());
}

/// Where objects run: linked into this process, or out of a package in any other.
enum class Runs { Here, Anywhere };

/// One kernel module to the contents of an object file.
std::string compileModule(ModuleOp module, llvm::TargetMachine &machine, const Machine &host,
                          Runs runs) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    throw InternalError("kernel '" + module.getSymName()->str() + "' has no LLVM translation");
  code->setDataLayout(machine.createDataLayout());
  code->setTargetTriple(machine.getTargetTriple().str());
  // Some CPUs are tuned to prefer half-width vectors; ours are chosen on purpose.
  std::string width = std::to_string(host.vectorBytes * 8);
  for (llvm::Function &function : *code) {
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  for (llvm::Function &function : *code)
    keepCopyLoops(function);
  if (llvm::Error error = makeOptimizingTransformer(3, 0, &machine)(code.get()))
    fail("optimization failed", std::move(error));
  for (llvm::Function &function : *code) {
    if (function.isDeclaration())
      continue;
    splitTiles(function);
    splitLongVectors(function, host.vectorBytes);
    if (host.vectorBytes >= 64)
      loadUnderMasks(function);
    widenOddVectors(function);
  }
  if (auto streams = module->getAttrOfType<DenseI64ArrayAttr>(kStreamsAttr))
    for (llvm::Function &function : llvm::make_early_inc_range(*code))
      if (!function.hasLocalLinkage())
        streamStores(function, streams.asArrayRef());
  if (checksAccesses && runs == Runs::Here)
    checkAccesses(*code);
  return writeObject(*code, machine);
}

/// The cache key of an object: the code it was made from, and for which CPU.
std::string keyOf(const std::string &code, const Processor &processor) {
  // To be raised when the same text becomes other code.
  constexpr std::string_view generator = "6";
  return FileCache::key({LLVM_VERSION_STRING, generator, processor.name, processor.features, code});
}

/// Makes the code generator if no object was found: its tables take longer than a kernel found.
Object findOrCompile(ModuleOp module, std::unique_ptr<llvm::TargetMachine> &machine,
                     const Processor &processor, const FileCache &cache, Runs runs) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().useLocalScope());
  std::string key = keyOf(text, processor);
  if (checksAccesses && runs == Runs::Here)
    key += "-checked";
  if (std::optional<std::string> object = cache.find(key))
    return llvm::MemoryBuffer::getMemBufferCopy(*object, key);
  if (!machine)
    machine = makeTargetMachine(processor);
  std::string object = compileModule(module, *machine, processor.machine, runs);
  cache.store(key, object);
  return llvm::MemoryBuffer::getMemBufferCopy(object, key);
}

/// Nothing else of the process is visible to generated code, but the intrinsics of the user.
void defineRuntimeFunctions(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  for (const RuntimeFunction &function : runtimeFunctions())
    symbols[jit.mangleAndIntern(function.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function.address), llvm::JITSymbolFlags::Exported};
  for (const Intrinsic &intrinsic : declaredIntrinsics())
    if (intrinsic.function)
      symbols[jit.mangleAndIntern(intrinsic.symbol())] = {
          llvm::orc::ExecutorAddr::fromPtr(intrinsic.function), llvm::JITSymbolFlags::Exported};
  if (llvm::Error error =
          jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    fail("cannot define runtime functions", std::move(error));
  if (checksAccesses)
    defineAccessChecks(jit);
}

std::vector<Object> compileModules(ArrayRef<ModuleOp> modules, const Processor &processor,
                                   Runs runs) {
  initializeTargets();
  std::vector<Object> objects(modules.size());
  FileCache cache = FileCache::user("o");
  CompilerSection::Pause pause; // its threads are in sections of their own
  ThreadPool::global().parallelFor(
      static_cast<int64_t>(modules.size()), 1, [&](int64_t begin, int64_t end, int) {
        CompilerSection section;
        std::unique_ptr<llvm::TargetMachine> machine;
        for (int64_t i = begin; i < end; ++i) {
          pollInterruption();
          CompilerSection::yieldToFork();
          objects[i] = findOrCompile(modules[i], machine, processor, cache, runs);
        }
      });
  return objects;
}

/// Gives the kernel a name that says what it is: kernels of several programs meet in a package.
std::string nameByContent(ModuleOp module, const Processor &processor) {
  auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(*module.getSymName());
  kernel.setSymName("kernel");
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Operation &op : *module.getBody())
    op.print(os, OpPrintingFlags().useLocalScope());
  if (Attribute streams = module->getAttr(kStreamsAttr))
    streams.print(os);
  std::string symbol = "k_" + keyOf(text, processor).substr(0, 24);
  kernel.setSymName(symbol);
  kernel.setVisibility_(LLVM::Visibility::Hidden);
  return symbol;
}

} // namespace

std::string emitObject(llvm::Module &code) {
  initializeTargets();
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(findProcessor("x86-64-v2"));
  code.setDataLayout(machine->createDataLayout());
  code.setTargetTriple(machine->getTargetTriple().str());
  return writeObject(code, *machine);
}

Processor findProcessor(StringRef name) {
  Processor processor;
  Machine &machine = processor.machine;
  auto setWidth = [&](int64_t bytes) {
    machine.vectorBytes = bytes;
    machine.vectorRegisters = bytes == 64 ? 32 : 16;
  };
  bool isNative = name == "native";
  if (isNative && !highestLevelToUse().empty())
    name = llvm::StringRef(hostLevel());
  if (name == "native") {
    auto host = llvm::sys::getHostCPUFeatures();
    auto has = [&](StringRef feature) { return host.lookup(feature); };
    processor.name = llvm::sys::getHostCPUName().str();
    llvm::SubtargetFeatures features;
    for (auto &feature : host)
      features.AddFeature(feature.first(), feature.second);
    processor.features = features.getString();
    processor.needs.level = hostLevel();
    processor.needs.features = hostFeatures();
    setWidth(has("avx512f") && has("avx512vl") ? 64 : has("avx2") && has("fma") ? 32 : 16);
    machine.policy.pairsTerms = machine.vectorBytes == 64 && has("avx512bf16");
    // Compiling never waits for a measurement; if there was one, it counts.
    machine.setRates(hostRates());
    return processor;
  }
  std::span<const std::string_view> levels = processorLevels();
  auto level = std::find(levels.begin(), levels.end(), std::string_view(name));
  if (level == levels.end())
    throw Error(ErrorKind::InvalidArgument,
                "unknown CPU '" + name.str() +
                    "'; expected native, x86-64-v2, x86-64-v3 or x86-64-v4");
  processor.name = processor.needs.level = name.str();
  setWidth(int64_t{16} << (level - levels.begin()));
  if (isNative) {
    machine.setRates(hostRates());
    return processor;
  }
  // The same on every machine: code for a level does not depend on where it is made.
  ProcessorDescription description;
  description.name = processor.name;
  description.vectorBytes = machine.vectorBytes;
  machine.setRates(derivedRates(description));
  return processor;
}

std::vector<Object> compileForProcess(ArrayRef<ModuleOp> modules, const Processor &processor) {
  // The native one is what runs here, whatever its level is called.
  if (processor.name == processor.needs.level && !hostHas(processor.needs))
    throw Error(ErrorKind::InvalidArgument,
                "this machine cannot run code for '" + processor.name + "'");
  return compileModules(modules, processor, Runs::Here);
}

CompiledKernels linkIntoProcess(ArrayRef<ModuleOp> modules, std::vector<Object> objects) {
  initializeTargets();
  CompilerSection section;
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> created = llvm::orc::LLJITBuilder().create();
  if (!created)
    fail("cannot link generated code", created.takeError());
  std::shared_ptr<llvm::orc::LLJIT> jit = std::move(*created);
  defineRuntimeFunctions(*jit);
  for (Object &object : objects)
    if (llvm::Error error = jit->addObjectFile(std::move(object)))
      fail("cannot link generated code", std::move(error));

  CompiledKernels result;
  for (ModuleOp module : modules) {
    auto address = jit->lookup(*module.getSymName());
    if (!address)
      fail("cannot find kernel '" + module.getSymName()->str() + "'", address.takeError());
    result.functions[*module.getSymName()] = address->toPtr<KernelFn>();
  }
  result.code = jit;
  return result;
}

std::vector<KernelObject> compileObjects(ArrayRef<ModuleOp> modules, const Processor &processor) {
  // Only what a runtime can ask a machine for: its level, and features that it knows.
  Processor portable = processor;
  portable.name = processor.needs.level;
  llvm::SubtargetFeatures features;
  for (const std::string &feature : processor.needs.features)
    features.AddFeature(feature);
  portable.features = features.getString();

  std::vector<KernelObject> result;
  for (const Intrinsic &intrinsic : declaredIntrinsics())
    for (ModuleOp module : modules)
      if (module.lookupSymbol(intrinsic.symbol()))
        throw Error(ErrorKind::Unsupported, "a package holds no code but its own, and kernel '" +
                                                module.getSymName()->str() +
                                                "' calls the intrinsic '" + intrinsic.name + "'");
  for (ModuleOp module : modules)
    result.push_back({module.getSymName()->str(), nameByContent(module, portable), nullptr});
  auto objects = compileModules(modules, portable, Runs::Anywhere);
  for (size_t i = 0; i < objects.size(); ++i)
    result[i].object = std::move(objects[i]);
  return result;
}

} // namespace headrace
