// The loops of a kernel, read from its operations.
#pragma once

#include "dialect/Hr.h"
#include "transform/recipe/LoopModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// On an operation of a kernel: axes of a single point, which have no dimension any more.
inline constexpr llvm::StringLiteral kUnitAxesAttr = "hr.unit_axes";
/// On a program's entry or a kernel's module: a recipe as text.
inline constexpr llvm::StringLiteral kRecipeAttr = "hr.recipe";
/// On a kernel's module: the compiler chose the recipe.
inline constexpr llvm::StringLiteral kRecipeChosenAttr = "hr.recipe_chosen";
/// On a kernel's module: why its recipe was not applied, or what it does not keep; what it
/// makes of the kernel, and its loops.
inline constexpr llvm::StringLiteral kRecipeRefusedAttr = "hr.recipe_refused";
inline constexpr llvm::StringLiteral kRecipeNotesAttr = "hr.recipe_notes";
inline constexpr llvm::StringLiteral kKindAttr = "hr.kind";
inline constexpr llvm::StringLiteral kLoopsAttr = "hr.loops";

/// On a kernel: the names of what it reads, as recipes speak of them.
inline constexpr llvm::StringLiteral kInputNamesAttr = "hr.input_names";

/// The index of a dimension as a sum of axes times coefficients; nothing if it is not linear.
std::optional<ReadDim> linearTerms(mlir::AffineExpr expr, std::optional<int64_t> extent);

/// "f32": the type of a value's elements.
std::string typeName(mlir::Value value);
/// The stage of an operation (for a fill, the one that it initializes); empty if it has none.
llvm::StringRef stageOf(mlir::Operation *op);
/// Whether the operation combines elements by one of the functions whose order does not matter, as
/// far as the compiler knows them: a sum, a product, a minimum, ...
bool combinesInAnyOrder(mlir::linalg::GenericOp op);
/// The name of an iteration dimension.
std::string axisName(mlir::Operation *op, unsigned dim);
/// The dimension of that axis; nothing if the operation does not have it (any more).
std::optional<unsigned> axisDim(mlir::Operation *op, llvm::StringRef axis);

/// Whether this is the padding around a kernel's result, which is not a stage: loops write its
/// interior.
bool isBorder(mlir::Operation *op);

/// The operations of a kernel's function, as schedules need them.
struct KernelContents {
  mlir::Operation *root = nullptr;          // computes what is stored
  llvm::SmallVector<mlir::Operation *> ops; // all stages, in program order
  llvm::SmallVector<mlir::linalg::GenericOp> reductions;

  static KernelContents of(mlir::func::FuncOp kernel);
  mlir::linalg::GenericOp rootGeneric() const {
    return llvm::dyn_cast_or_null<mlir::linalg::GenericOp>(root);
  }
};

/// The name by which stages of a kernel know a value they read: a stage's, or an argument's.
std::string sourceName(mlir::Value value);

LoopModel modelOfKernel(mlir::func::FuncOp kernel);

} // namespace headrace
