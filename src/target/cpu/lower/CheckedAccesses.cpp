#include "target/cpu/lower/CheckedAccesses.h"

#include "runtime/system/Error.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"

namespace headrace {

void checkAccesses(llvm::Module &code) {
  for (llvm::Function &function : code)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::AddressSanitizerOptions options;
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  options.InsertVersionCheck = false;
  llvm::ModulePassManager passes;
  // Constructors and destructors of kernels are never run.
  passes.addPass(llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false,
                                            /*UseOdrIndicator=*/false, llvm::AsanDtorKind::None,
                                            llvm::AsanCtorKind::None));
  passes.run(code, modules);
}

void defineAccessChecks(llvm::orc::LLJIT &jit) {
  auto isCheck = [prefix = std::string("__asan_")](const llvm::orc::SymbolStringPtr &name) {
    return (*name).starts_with(prefix);
  };
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix(), isCheck);
  if (!process)
    throw InternalError("the sanitizer's functions: " + llvm::toString(process.takeError()));
  jit.getMainJITDylib().addGenerator(std::move(*process));
}

} // namespace headrace
