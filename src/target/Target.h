// The interface of a target. A target is a directory next to this file; none is special.
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/Processor.h"
#include "target/expansion/Expansion.h"

#include "llvm/Support/MemoryBuffer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include "schedule/Space.h"

namespace headrace {

class Target;

/// A part of the way from scheduled kernels to code.
struct TargetPhase {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  /// Adds the passes that lead to it, over every kernel's module.
  void (*build)(mlir::OpPassManager &kernels, const Target &target);
};

/// A kernel as text that its engine reads, and how it is launched if the engine is a device.
struct KernelImage {
  std::string kernel;           // the name of its module
  DeviceImage image;            // named by its content
  std::vector<Launch> launches; // in order
  DimExpr workspaceBytes;       // what the launches share
};

/// Kernels ready to run: functions of the process if the host is their engine, else images. With
/// what keeps functions alive.
struct CompiledKernels {
  llvm::StringMap<KernelFn> functions; // by the name of the module
  std::vector<KernelImage> images;
  std::shared_ptr<void> code;
};

/// A kernel as an object file, for linking into a package.
struct KernelObject {
  std::string kernel; // the name of its module
  std::string symbol; // of its code: equal symbols are equal code
  std::shared_ptr<const llvm::MemoryBuffer> object;
};

/// Kernels for a package: objects if the host is their engine, else images.
struct PackagedKernels {
  std::vector<KernelObject> objects;
  std::vector<KernelImage> images;
};

/// Where code runs: in this process, or out of a package in any other.
enum class CodeUse { Process, Package };

/// Code of scheduled kernels, for one use, that earlier compilations left: they need not be lowered
/// any more.
class CachedCode {
public:
  virtual ~CachedCode() = default;
  virtual bool has(llvm::StringRef kernel) const = 0;
  /// What Target::compile or Target::compileAot returns, for cached kernels and for others, which
  /// were lowered since and are cached from now on.
  virtual CompiledKernels compile(llvm::ArrayRef<mlir::ModuleOp> kernels) const = 0;
  virtual PackagedKernels compileAot(llvm::ArrayRef<mlir::ModuleOp> kernels) const = 0;
};

class Target {
public:
  virtual ~Target() = default;
  virtual llvm::StringRef name() const = 0;
  /// With what it asks of the levels above it (KernelPolicy).
  virtual const Machine &machine() const = 0;
  /// How long work takes on it.
  const CostModel &costModel() const { return *machine().cost; }
  /// The work of a scheduled kernel, for these values of the symbols; its first accesses to
  /// operands apart. `operations` are those of all its operators.
  virtual Work workOf(mlir::ModuleOp kernel, llvm::ArrayRef<int64_t> symbols,
                      double operations) const = 0;
  /// The work of a call of a library's routine, as the expansion that makes such calls has it; its
  /// first accesses to operands apart.
  Work workOfCall(const LibraryCall &call) const;
  /// Microseconds of a scheduled kernel where more than a model knows them: a simulator counted.
  virtual std::optional<double> countedMicroseconds(mlir::ModuleOp kernel) const {
    (void)kernel;
    return std::nullopt;
  }
  /// Ways to compute contractions and convolutions, generated code (which always can) first.
  virtual llvm::ArrayRef<const Expansion *> expansions() const = 0;
  /// Dialects and interface implementations its passes need.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;

  /// Why it cannot run an outlined kernel, or a step that calls this routine of a library; empty
  /// if it can. Another target does that then (PlaceKernels.cpp).
  virtual std::string unsupportedReason(mlir::ModuleOp kernel) const = 0;
  virtual std::string unsupportedReason(llvm::StringRef routine) const = 0;

  /// Level 1, simplified: the target's own rewriting of it. A target that computes several
  /// operators as one thing of its own takes them here, before kernels are formed of the others.
  /// What it takes are launches of kernels that name it as their target (Placement.h), whose
  /// modules are for it alone to read.
  virtual void addProgramPasses(mlir::OpPassManager &program) const { (void)program; }

  /// Level 1, where operators have become calls of libraries: how those are made.
  virtual void addCallPasses(mlir::OpPassManager &program) const { (void)program; }
  /// The schedules of a call; null if there is nothing to decide.
  virtual std::unique_ptr<ScheduleSpace> schedulesOfCall(hr::LibraryOp call) const {
    (void)call;
    return nullptr;
  }

  /// Gives kernels what a user's recipe says of their stages. Throws Error if the text is no
  /// recipe, or speaks of stages that are not there.
  virtual void attachRecipe(mlir::func::FuncOp program, llvm::StringRef recipe) const = 0;
  /// Level 2 -> 3: a schedule and its recipe for each kernel module.
  virtual void addSchedulePasses(mlir::OpPassManager &kernels) const = 0;
  /// The schedules of a scheduled kernel, stage by stage.
  virtual std::vector<std::unique_ptr<ScheduleSpace>> schedules(mlir::ModuleOp kernel) const {
    (void)kernel;
    return {};
  }
  /// The work of a scheduled kernel under another of its schedules, like `workOf`; nothing if it is
  /// not known without forming the kernel anew.
  virtual std::optional<Work> workUnder(mlir::ModuleOp kernel, const ScheduleRecord &schedule,
                                        llvm::ArrayRef<int64_t> symbols, double operations) const {
    (void)kernel, (void)schedule, (void)symbols, (void)operations;
    return std::nullopt;
  }
  /// From there to code, in the target's own words; one at least.
  virtual llvm::ArrayRef<TargetPhase> phases() const = 0;

  /// The name of the engine that runs its code (runtime/program/Engine.h).
  virtual std::string engine() const = 0;
  /// The CPU or device that its code needs.
  virtual ProcessorNeeds needs() const = 0;
  /// Code of these kernel modules, for this process. Throws Error if this machine cannot run it.
  virtual CompiledKernels compile(llvm::ArrayRef<mlir::ModuleOp> kernels) const = 0;
  /// Code of these kernel modules, for a package.
  virtual PackagedKernels compileAot(llvm::ArrayRef<mlir::ModuleOp> kernels) const = 0;
  /// The code kept of scheduled kernels. Kernels that it has get the notes that lowering makes.
  /// Null if nothing is ever kept.
  virtual std::unique_ptr<CachedCode> cachedCode(llvm::ArrayRef<mlir::ModuleOp> scheduled,
                                                 CodeUse use) const {
    (void)scheduled, (void)use;
    return nullptr;
  }
};

/// Attribute of a kernel's function: bytes of workspace a worker needs for it.
inline constexpr llvm::StringLiteral kWorkspaceAttr = "hr.workspace_bytes";
/// Its value, from anywhere in a kernel's module.
int64_t workspaceOf(mlir::ModuleOp kernel);

/// The target of that name ("cpu", "cpu:x86-64-v3", "cuda:sm_90a"); throws `Error` if there is
/// none.
const Target &findTarget(llvm::StringRef name);

/// A family of targets; `make` gets the whole name, and what is behind its colon.
struct TargetKind {
  llvm::StringRef name;
  std::unique_ptr<const Target> (*make)(llvm::StringRef fullName, llvm::StringRef processor);
};
/// The targets of this library (targets/Targets.cpp), that of the host first.
std::vector<TargetKind> shippedTargets();
/// Makes one known to `findTarget`, for good, before anything is compiled.
void addTargetKind(const TargetKind &kind);

/// The names of the ways in which any target computes contractions and convolutions, each once:
/// "generated", "openblas", ...
std::vector<std::string> expansionNames();
/// The expansions of one target.
std::vector<std::string> expansionNames(const Target &target);

} // namespace headrace
