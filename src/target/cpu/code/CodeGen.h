// Machine code from kernels in the LLVM dialect.
#pragma once

#include "target/Target.h"

namespace llvm {
class Module;
}

namespace headrace {

/// A CPU to generate code for.
struct Processor {
  std::string name;     // as LLVM spells it
  std::string features; // likewise
  Machine machine;
  ProcessorNeeds needs;
};

/// "native", the CPU the process runs on, or a level of x86-64 ("x86-64-v3"), which may be
/// another machine's. Throws Error if there is none of that name.
Processor findProcessor(llvm::StringRef name);

using Object = std::unique_ptr<llvm::MemoryBuffer>;

/// Compiles kernel modules on all cores. Each object is named by its key in the user's cache of
/// objects. Throws Error if this machine cannot run the code.
std::vector<Object> compileForProcess(llvm::ArrayRef<mlir::ModuleOp> modules,
                                      const Processor &processor);
/// Links objects, one for each kernel module, into the process.
CompiledKernels linkIntoProcess(llvm::ArrayRef<mlir::ModuleOp> modules,
                                std::vector<Object> objects);

/// Compiles kernel modules on all cores, for a package; kernels are named by what they compute.
std::vector<KernelObject> compileObjects(llvm::ArrayRef<mlir::ModuleOp> modules,
                                         const Processor &processor);

/// A module of data as an object file.
std::string emitObject(llvm::Module &code);

} // namespace headrace
