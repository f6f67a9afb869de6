#include "target/cuda/code/Ptx.h"

#include "runtime/system/Error.h"
#include "target/cuda/code/DeviceMath.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Export.h"

#include <mutex>

using namespace mlir;

namespace headrace::cuda {
namespace {

constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";
/// The version of PTX; drivers since CUDA 12.0 take it.
constexpr llvm::StringLiteral kFeatures = "+ptx80";

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Architecture &architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(kTriple.str(), error);
  if (!target)
    throw InternalError("this LLVM has no back end for NVIDIA devices: " + error);
  llvm::TargetOptions options;
  // a * b + c may round once: contraction is the one licence taken with floating point.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, architecture.name, kFeatures, options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Takes in the functions of DeviceMath that the module calls.
void linkDeviceMath(llvm::Module &code) {
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> math = llvm::parseIR(
      llvm::MemoryBufferRef(deviceMathText(), "DeviceMath"), diagnostic, code.getContext());
  if (!math)
    throw InternalError("device functions cannot be read: " + diagnostic.getMessage().str());
  math->setTargetTriple(code.getTargetTriple());
  math->setDataLayout(code.getDataLayout());
  SmallVector<std::string> names;
  for (llvm::Function &function : *math) {
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    if (!function.isDeclaration())
      names.push_back(function.getName().str());
  }
  if (llvm::Linker::linkModules(code, std::move(math), llvm::Linker::LinkOnlyNeeded))
    throw InternalError("device functions cannot be linked");
  for (const std::string &name : names)
    if (llvm::Function *function = code.getFunction(name)) {
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
      function->removeFnAttr(llvm::Attribute::NoInline);
      function->removeFnAttr(llvm::Attribute::OptimizeNone);
      function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
}

} // namespace

Architecture findArchitecture(StringRef name) {
  static const Architecture known[] = {
      {"sm_80", 108}, {"sm_86", 84}, {"sm_89", 142}, {"sm_90", 132}, {"sm_90a", 132}};
  for (const Architecture &architecture : known)
    if (name == architecture.name)
      return architecture;
  throw Error(ErrorKind::InvalidArgument,
              "unknown device '" + name.str() + "'; expected sm_80, sm_86, sm_89, sm_90 or sm_90a");
}

std::string writePtx(ModuleOp kernel, const Architecture &architecture) {
  std::string name = kernel.getSymName().value_or("kernel").str();
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(architecture);
  llvm::LLVMContext context;
  auto device = *kernel.getOps<gpu::GPUModuleOp>().begin();
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(device, context, name);
  if (!code)
    throw InternalError("kernel '" + name + "' has no LLVM translation");
  code->setDataLayout(machine->createDataLayout());
  code->setTargetTriple(kTriple);
  linkDeviceMath(*code);
  std::string fault;
  llvm::raw_string_ostream faults(fault);
  if (llvm::verifyModule(*code, &faults))
    throw InternalError("kernel '" + name + "' is not valid code: " + fault);
  if (llvm::Error error = makeOptimizingTransformer(3, 0, machine.get())(code.get()))
    throw InternalError("optimization failed: " + llvm::toString(std::move(error)));
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw InternalError("the code generator cannot write PTX");
  passes.run(*code);
  return text.str().str();
}

} // namespace headrace::cuda
