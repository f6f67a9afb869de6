// The interface of a target. A target is a folder beside this file; none is special.
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/Processor.h"
#include "target/expansion/Expansion.h"

#include "llvm/Support/MemoryBuffer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace headrace {

class HostTarget;
class DeviceTarget;
class Target;

/// A part of the way from scheduled kernels to code.
struct TargetPhase {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  /// Adds the passes that lead to it, over every kernel's module.
  void (*build)(mlir::OpPassManager &kernels, const Target &target);
};

class Target {
public:
  virtual ~Target() = default;
  virtual llvm::StringRef name() const = 0;
  virtual const Machine &machine() const = 0;
  /// How long work takes on it.
  const CostModel &costModel() const { return *machine().cost; }
  /// What a scheduled kernel does, for these values of the symbols; its first accesses to operands
  /// apart. `operations` are those of all its operators.
  virtual Work workOf(mlir::ModuleOp kernel, llvm::ArrayRef<int64_t> symbols,
                      double operations) const = 0;
  /// Ways to compute contractions and convolutions, generated code (which always can) first.
  virtual llvm::ArrayRef<const Expansion *> expansions() const = 0;
  /// Dialects and interface implementations its passes need.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  /// Level 2 -> 3: a schedule and its recipe for each kernel module.
  virtual void addSchedulePasses(mlir::OpPassManager &kernels) const = 0;
  /// Legal schedules of a scheduled kernel other than its own, as lines of recipes.
  virtual std::vector<std::string> alternativesOf(mlir::ModuleOp kernel) const = 0;
  /// From there to code, in the target's own words.
  virtual llvm::ArrayRef<TargetPhase> phases() const = 0;
  /// The processor or device that its code needs.
  virtual ProcessorNeeds needs() const = 0;
  /// A target is one of these two.
  virtual const HostTarget *asHost() const { return nullptr; }
  virtual const DeviceTarget *asDevice() const { return nullptr; }
};

/// Kernels as callable code, with what keeps the code alive.
struct CompiledKernels {
  llvm::StringMap<KernelFn> kernels;
  std::shared_ptr<void> code;
};

/// A kernel as an object file, for linking into a package.
struct KernelObject {
  std::string kernel; // the name of its module
  std::string symbol; // of its code: equal symbols are equal code
  std::shared_ptr<const llvm::MemoryBuffer> object;
};

/// Kernels are functions of the process itself.
class HostTarget : public Target {
public:
  /// Code of every kernel module of the program, linked into the process. Throws Error where this
  /// machine cannot run it.
  virtual CompiledKernels compile(mlir::ModuleOp program) const = 0;
  /// Code of every kernel module of the program, for a package.
  virtual std::vector<KernelObject> compileAhead(mlir::ModuleOp program) const = 0;
  const HostTarget *asHost() const final { return this; }
};

/// A kernel as text for a device's driver, and how it is launched.
struct DeviceKernel {
  std::string kernel;           // the name of its module
  DeviceImage image;            // named by its content
  std::vector<Launch> launches; // in order
  DimExpr workspaceBytes;       // what the launches share
};

/// Kernels are launched on a device with memory of its own.
class DeviceTarget : public Target {
public:
  /// Gives kernels what a user's recipe says of their stages. Throws Error where the text is no
  /// recipe, or speaks of stages that are not there.
  virtual void attachRecipe(mlir::func::FuncOp program, llvm::StringRef recipe) const = 0;
  /// Code of every kernel module of the program; needs no device.
  virtual std::vector<DeviceKernel> compile(mlir::ModuleOp program) const = 0;
  const DeviceTarget *asDevice() const final { return this; }
};

/// Attribute of a kernel's function: bytes of workspace a worker needs for it.
inline constexpr llvm::StringLiteral kWorkspaceAttr = "hr.workspace_bytes";
/// Its value, from anywhere in a kernel's module.
int64_t workspaceOf(mlir::ModuleOp kernel);

/// The target of that name ("cpu", "cpu:x86-64-v3", "cuda:sm_90a"); throws `Error` where there is
/// none.
const Target &findTarget(llvm::StringRef name);

/// The names of the ways in which any target computes contractions and convolutions, each once:
/// "generated", "openblas", ...
std::vector<std::string> expansionNames();
/// The expansions of one target.
std::vector<std::string> expansionNames(const Target &target);

} // namespace headrace
