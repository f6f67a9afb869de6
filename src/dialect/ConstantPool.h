// The large constants of a context, by the names that attributes have for them.
//
// An attribute of MLIR lives as long as its context, and so would every tensor that folding or
// packing made on the way. The pool owns them instead: what no program refers to any more is
// released, and programs that were compiled share the memory of what they keep. So do versions of a
// program, for other sizes or other CPUs: what compiling one makes is found by its contents
// when another one needs the same.
#pragma once

#include "runtime/tensor/Tensor.h"

#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace headrace {

class ConstantPool : public mlir::DialectInterface::Base<ConstantPool> {
public:
  explicit ConstantPool(mlir::Dialect *dialect) : Base(dialect) {}
  static ConstantPool &of(mlir::MLIRContext *context);

  /// The tensor as an attribute that refers to it, or to equal elements that are in memory.
  mlir::ElementsAttr add(const Tensor &tensor, mlir::RankedTensorType type);
  /// Like `add`, under a name derived from the contents, for passes that run on several threads:
  /// the program does not depend on the order in which they add their constants.
  mlir::ElementsAttr addByContents(const Tensor &tensor, mlir::RankedTensorType type);
  /// The memory that an attribute refers to, which the result keeps alive; null for what the pool
  /// does not hold.
  std::shared_ptr<const void> ownerOf(llvm::StringRef key) const;

  /// The copy that a program has of an attribute whose data lie where code cannot read them; else
  /// the one that `copy` makes, for others to find.
  std::shared_ptr<const Tensor> copyOf(llvm::StringRef key, llvm::function_ref<Tensor()> copy);

  /// How many were added so far.
  size_t mark() const;
  /// From now on `giveUp` may take what is added.
  void beginCompilation();
  /// Gives up one that was added since; the caller knows that nothing refers to it.
  void giveUp(llvm::StringRef key);
  /// Bytes of those that were added since and are still held.
  size_t bytesSince(size_t mark) const;
  /// Runs `print` while attributes refer to no data: to elide it, MLIR writes all of it as text
  /// first.
  void withoutData(llvm::function_ref<void()> print);
  /// Gives up those that were added since, and before there were `until`, except what `program`
  /// refers to (null: everything); returns how many bytes.
  size_t release(size_t since, mlir::ModuleOp program, size_t until = SIZE_MAX);
  /// Gives up all, once no program is left: names are given out as in a new context.
  void startAgain();

private:
  /// Elements that are there as long as something owns them.
  struct Contents {
    std::weak_ptr<const void> owner;
    const void *data;
    size_t bytes;
  };

  Tensor shared(const Tensor &tensor);
  mlir::DenseResourceElementsHandle nameNext(const Tensor &tensor);
  void drop(llvm::StringRef key);

  mutable std::mutex mutex;
  llvm::StringMap<std::pair<size_t, Tensor>> tensors; // with how many came before
  size_t count = 0;
  std::vector<mlir::DenseResourceElementsHandle> names; // in the order of that count
  llvm::StringMap<std::optional<mlir::DenseResourceElementsHandle>> contentNames;
  size_t begin = SIZE_MAX;                             // of the compilation, in the same count
  std::unordered_multimap<uint64_t, Contents> made;    // by compilations; by hash
  llvm::StringMap<std::weak_ptr<const Tensor>> copies; // by the names of what they are copies of
};

} // namespace headrace
