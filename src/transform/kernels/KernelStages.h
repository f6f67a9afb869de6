// The stages of a program's kernels, as recipes of devices name them: such a recipe says how stages
// of kernels that are formed already are launched.
//
// A stage has the name that its author gave it. Others are called after their kernel: the one that
// computes its result by the kernel's name, the rest `kernel/reduce` and the like; inside the
// kernel that is `/reduce`, so that equal kernels stay equal.
#pragma once

#include "dialect/Hr.h"
#include "transform/recipe/Recipe.h"

#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// On a kernel's module: the stage that is called as the kernel is, if there is one.
inline constexpr llvm::StringLiteral kRootStageAttr = "hr.root_stage";

/// The operations of a kernel's block that have a name of their own, in order.
llvm::SmallVector<mlir::Operation *> stagesOf(mlir::Block &kernel);
/// The stage that is called as its kernel is; empty if there is none.
std::string rootStageOf(mlir::Block &kernel);

/// The stage that one result of an operation is, if it has several.
std::string stageOfResult(llvm::StringRef stage, unsigned result);

/// Names of kernels, asked for in the order of the program: plain, and numbered if several have
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

/// The names of all stages of a program's kernels.
std::vector<std::string> stageNames(mlir::func::FuncOp program);

/// Writes each kernel's steps on it, with its own names of stages: `relu1` is the stage that
/// computes the result of kernel relu1, `relu1/conv` another of its stages. Throws `Error` if
/// there is no such stage.
void attachStepsToKernels(mlir::func::FuncOp program, const Recipe &recipe);

/// A recipe's line on one stage, to be given to the kernel it is in.
struct StageLine {
  std::string stage; // as the user wrote it
  std::string text;  // what is said of it
  int line;
};
/// Writes each kernel's lines on it, with its own names of stages (`hr.recipe`). Throws `Error`
/// if there is no such stage, or several.
void attachToKernels(mlir::func::FuncOp program, llvm::ArrayRef<StageLine> lines);

} // namespace headrace
