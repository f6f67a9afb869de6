// The stages of a program's kernels, as recipes of devices name them: such a recipe says how stages
// of kernels that are formed already are launched.
//
// The stage that computes a kernel's result has the kernel's name, others `kernel/stage`.
#pragma once

#include "dialect/Hr.h"

#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// On a kernel's module: the stage that computes its result, if that is one.
inline constexpr llvm::StringLiteral kRootStageAttr = "hr.root_stage";

/// The operations of a kernel's block that have a name of their own and one result, in order.
llvm::SmallVector<mlir::Operation *> stagesOf(mlir::Block &kernel);
/// The one that computes what the kernel stores or yields; null where there are several, or none.
mlir::Operation *rootOf(mlir::Block &kernel);

/// Names of kernels, asked for in the order of the program: plain, and numbered where several have
/// the same.
class KernelNames {
public:
  std::string next(llvm::StringRef kernel);

private:
  llvm::StringMap<int> count;
};

/// The name of a kernel's stage in the program.
std::string stageName(const std::string &kernel, llvm::StringRef stage, llvm::StringRef root);
/// Text that begins with the name of a kernel's stage (lines of its recipe), with the name in the
/// program.
std::string namedInProgram(llvm::StringRef text, const std::string &kernel, llvm::StringRef root);

/// What a recipe says of stages, given to the kernels they are in.
struct StageLine {
  std::string stage; // as the user wrote it
  std::string text;  // what is said of it
  int line;
};
/// Writes each kernel's lines on it, with its own names of stages (`hr.recipe`). Throws `Error`
/// where there is no such stage, or several.
void attachToKernels(mlir::func::FuncOp program, llvm::ArrayRef<StageLine> lines);

} // namespace headrace
