// Choices given by a program's recipe and choices of the compiler, for the passes that choose.
//
// Both stand on the program's function: `hr.given` and `hr.given_kernels` hold what the user's
// recipe says and no pass has followed yet, `hr.choices` what was chosen so far. A pass asks
// `wanted` before it chooses, and notes what it chose. A step that cannot be followed is rejected
// with the reason, on the function too (`hr.refused_step`); the driver tells the user.
#pragma once

#include "dialect/SymbolicShape.h"
#include "runtime/program/Explanation.h"
#include "transform/choices/OperatorNames.h"
#include "transform/choices/ProgramRecipe.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

inline constexpr llvm::StringLiteral kChoicesAttr = "hr.choices";
/// On a backward program: the choices that were made before it was split from the forward one.
inline constexpr llvm::StringLiteral kSplitChoicesAttr = "hr.split_choices";
inline constexpr llvm::StringLiteral kRefusedStepAttr = "hr.refused_step";
/// On a program: reasons are requested of what was not chosen, and those there are.
inline constexpr llvm::StringLiteral kExplainAttr = "hr.explain";
inline constexpr llvm::StringLiteral kWhyNotAttr = "hr.why_not";
/// On a program: how its kernels were planned.
inline constexpr llvm::StringLiteral kPlanningAttr = "hr.planning";
/// On a kernel and its launch: the operator that it is called after in recipes.
inline constexpr llvm::StringLiteral kKernelAttr = "hr.called";

/// Puts what a recipe says on the program, for the passes to follow. Throws Error if it names a
/// kind of operators that does not exist, or if two of its lines contradict each other.
void giveRecipe(mlir::func::FuncOp program, const ProgramRecipe &recipe);
/// The steps of the recipe that no pass has followed yet.
std::vector<ProgramStep> stepsToFollow(mlir::func::FuncOp program);
/// Whether kernels are planned without a search for faster plans: `plan kernels greedily` was
/// followed.
bool plansGreedily(mlir::func::FuncOp program);
/// Whether steps that cannot be followed are passed over.
bool followsWherePossible(mlir::func::FuncOp program);

class Choices {
public:
  explicit Choices(mlir::func::FuncOp program);
  Choices(const Choices &) = delete;
  /// Writes the choices on the program.
  ~Choices();

  const OperatorNames &operators() const { return names; }
  /// The name of an operator as it was when the pass began.
  llvm::StringRef nameOf(mlir::Operation *op) const { return names.of(op); }

  /// The object that a step with this verb gives to the operator; nothing if none speaks of it.
  std::optional<std::string> wanted(llvm::StringRef verb, mlir::Operation *op);
  /// All steps with this verb, in their order, for a pass that follows them in that order.
  std::vector<ProgramStep> take(llvm::StringRef verb);
  /// Whether the recipe speaks of a kernel that is called after this operator.
  bool isKernel(mlir::Operation *op) const { return isKernel(names.of(op)); }
  bool isKernel(llvm::StringRef name) const;
  /// The schedule of that kernel; nothing if the recipe gives none.
  std::optional<std::string> scheduleOf(llvm::StringRef kernel);

  void note(llvm::StringRef verb, mlir::Operation *op, llvm::StringRef object = "");
  /// A step that was followed, as the recipe has it.
  void note(const ProgramStep &step);
  /// A choice that was not made, why, and the bytes (null: not known) and microseconds that it
  /// would have saved. Kept where someone wants to know.
  void noteMissed(llvm::StringRef verb, mlir::Operation *op, llvm::StringRef object,
                  const llvm::Twine &reason, mlir::AffineExpr bytes = {},
                  std::optional<double> microseconds = {});
  /// How kernels were planned, in a sentence. Kept where someone wants to know.
  void notePlanning(llvm::StringRef text);
  /// The step with this verb on the operator cannot be followed.
  void refuse(llvm::StringRef verb, mlir::Operation *op, const llvm::Twine &reason);
  void refuse(const ProgramStep &step, const llvm::Twine &reason);
  /// Rejects steps with these verbs that no operator was found for.
  void finish(llvm::ArrayRef<llvm::StringLiteral> verbs);
  /// Rejects kernels that there are none of.
  void finishKernels(llvm::function_ref<bool(llvm::StringRef)> exists);
  /// After all passes that choose: rejects what none of them asked for.
  void finishAll();

private:
  struct Given : ProgramStep {
    bool followed = false;
  };
  Given *find(llvm::StringRef verb, mlir::Operation *op);
  std::string unknown(llvm::StringRef name) const;
  void refuse(int line, const llvm::Twine &step, const llvm::Twine &before,
              const llvm::Twine &reason);

  mlir::func::FuncOp program;
  OperatorNames names;
  std::vector<Given> given;
  std::vector<ProgramRecipe::Kernel> kernels;
  llvm::StringMap<size_t> kernelByName; // as the compiler calls it
  std::vector<std::string> made;
  bool explains;
  llvm::SmallVector<mlir::Attribute> reasons;
};

/// The lines of the program's recipe that the schedule of a kernel stands in.
void setScheduleLines(mlir::func::FuncOp program, llvm::StringRef kernel,
                      llvm::ArrayRef<int> lines);
std::vector<int> scheduleLines(mlir::func::FuncOp program, llvm::StringRef kernel);
void forgetScheduleLines(mlir::func::FuncOp program);

/// Notes on the program what was not chosen and why, if someone wants to know.
void noteMissedOptimization(mlir::func::FuncOp program, llvm::StringRef step,
                            const llvm::Twine &reason);
/// The program's notes of choices that were not made.
std::vector<MissedOptimization> reasonsOf(mlir::func::FuncOp program);
/// How its kernels were planned.
std::string planningOf(mlir::func::FuncOp program);

/// The name of a kernel, from its `hr.kernel` or launch.
std::string kernelNameOf(mlir::Operation *kernel);

/// The choices that were made so far, as steps of a recipe.
std::string choicesText(mlir::func::FuncOp program, llvm::StringRef attribute = kChoicesAttr);

} // namespace headrace
