// A device function as it is written: its parameters, its threads, and how it is launched.
#pragma once

#include "dialect/SymbolicShape.h"
#include "target/cuda/schedule/KernelTensors.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace headrace::cuda {

/// On a kernel's module: its launches in order, and the bytes of memory they share.
inline constexpr llvm::StringLiteral kLaunchesAttr = "cuda.launches";
inline constexpr llvm::StringLiteral kWorkspaceAttr = "cuda.workspace";
/// The width of indices in its device functions.
inline constexpr llvm::StringLiteral kIndexBitsAttr = "cuda.index_bits";

inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// Where a tensor lies: an operand of the step, or a part of the workspace its launches share.
struct TensorPlace {
  enum class Kind { Buffer, Workspace };
  Kind kind = Kind::Buffer;
  int index = 0;           // of the operand
  mlir::AffineExpr offset; // in the workspace, in bytes
};

/// Writes one `gpu.func`. Parameters come into being when they are first asked for; sizes are
/// computed by the caller of the launch, not by every thread.
class KernelWriter {
public:
  /// A function of `threads` threads a block at the end of the module.
  KernelWriter(mlir::gpu::GPUModuleOp module, mlir::Location loc, llvm::StringRef name,
               int64_t threads);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return location; }
  mlir::MLIRContext *context() { return b.getContext(); }

  /// The address of a tensor; `written` must be the same for all uses of a place.
  mlir::Value address(const TensorPlace &place, bool written);
  /// The value of a size, an index.
  mlir::Value size(mlir::AffineExpr expr);
  mlir::Value number(int64_t value);
  mlir::Value thread();                // number of the thread in its block
  mlir::Value block(unsigned dim = 0); // number of the block
  /// Static memory that the threads of a block share.
  mlir::Value shared(int64_t bytes);
  /// Dynamic shared memory, beyond the limit of static memory; call at most once.
  mlir::Value dynamicShared(int64_t bytes, int64_t alignment);
  /// A description of the tensor for the copy engine, which moves `box` of it at a time.
  mlir::Value tensorMap(const TensorPlace &place, llvm::ArrayRef<mlir::AffineExpr> shape,
                        mlir::Type element, llvm::ArrayRef<int64_t> box, int64_t swizzleBytes);

  /// This many blocks at least are to fit on a multiprocessor: bounds the registers.
  void setResidentBlocks(int64_t blocks);
  /// Ends the function. Returns its launch over a grid of this many blocks.
  mlir::DictionaryAttr finish(llvm::ArrayRef<mlir::AffineExpr> grid);

private:
  mlir::Value atEntry(llvm::function_ref<mlir::Value(mlir::OpBuilder &)> create);
  mlir::Value parameter(mlir::Type type, mlir::DictionaryAttr launch, mlir::DictionaryAttr attrs);

  mlir::OpBuilder b;
  mlir::Location location;
  mlir::gpu::GPUModuleOp module;
  mlir::gpu::GPUFuncOp function;
  int64_t threads;
  llvm::SmallVector<mlir::Attribute> parameters; // as launches give them
  llvm::SmallVector<mlir::Attribute> argumentAttrs;
  llvm::DenseMap<mlir::Attribute, mlir::Value> known;
  mlir::Value threadId, blockIds[3];
  int sharedCount = 0;
  int64_t dynamicBytes = 0;
};

} // namespace headrace::cuda
