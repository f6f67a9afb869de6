// Building blocks of recipes: rewrites of a kernel over tensors.
#pragma once

#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace headrace {

struct FusedTile {
  mlir::TilingInterface op;
  llvm::SmallVector<mlir::LoopLikeOpInterface> loops;
};

/// Loops over tiles of `sizes` (0: not tiled) around `op`, in `order` of dimensions; producers that
/// `fuses` accepts (with whether they are what the tile starts from) are computed tile by tile.
FusedTile tileAndFuse(mlir::RewriterBase &rewriter, mlir::TilingInterface op,
                      llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> order, bool isGrid,
                      llvm::function_ref<bool(mlir::Operation *, bool)> fuses);

/// Sets the last iteration of a loop over tiles apart if it covers less than the others, so that
/// tiles have constant sizes: all but the last, and that one too if `remainder` says its size.
/// Returns what all of them make.
///
///   scf.for %i = 0 to %n step 8 { size = min(8, %n - %i) }
///   ->
///   scf.for %i = 0 to %m step 8 { size = 8 } ; scf.for %i = %m to %n step 8 { size = 3 }
mlir::Value setRemainderApart(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                              std::optional<int64_t> remainder);

/// Splits off what whole multiples of `width` leave over in a dimension; returns the operation on
/// the whole ones, and that on the rest, null if there is none.
std::pair<mlir::TilingInterface, mlir::TilingInterface>
splitOffRemainder(mlir::RewriterBase &rewriter, mlir::TilingInterface op, unsigned dim,
                  int64_t width);

/// Reduces along `dim` into `width` partial results side by side, which are combined at the end. A
/// size that only the run tells is a multiple of `width`.
/// Each position of another reduced dimension has partial results of its own if there are at
/// most `maxBeside`; more of them follow one another.
void reduceSideBySide(mlir::RewriterBase &rewriter, mlir::TilingInterface op, unsigned dim,
                      int64_t width, int64_t maxBeside);

/// Makes the copies that `cache_read` and `cache_write` steps ask for.
void insertCopies(mlir::RewriterBase &rewriter, mlir::func::FuncOp kernel, const LoopModel &model);

/// On an operation that fills a panel.
inline constexpr llvm::StringLiteral kPackAttr = "hr.pack";
/// Panels are copied a row at a time, or, if their source lies along another dimension, a
/// square.
void tileCopies(mlir::RewriterBase &rewriter, mlir::func::FuncOp kernel);

/// On an operation in a kernel: the intrinsic that computes it, and which of its dimensions are
/// that one's axes.
inline constexpr llvm::StringLiteral kIntrinsicAttr = "hr.intrinsic";
inline constexpr llvm::StringLiteral kIntrinsicDimsAttr = "hr.intrinsic_dims";

void cleanUp(mlir::func::FuncOp kernel);
/// Dimensions of one point leave the operations; stages keep their names.
void dropUnitDims(mlir::RewriterBase &rewriter, mlir::func::FuncOp kernel);
/// Reads with a step become plain reads of a strided slice.
void sliceStridedOperands(mlir::func::FuncOp kernel);
/// Operations of known size that `wanted` accepts become vectors.
void vectorize(mlir::RewriterBase &rewriter, mlir::func::FuncOp kernel,
               llvm::function_ref<bool(mlir::Operation *)> wanted);

} // namespace headrace
