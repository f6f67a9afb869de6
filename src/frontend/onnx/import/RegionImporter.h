// Some nodes of a graph as a program of level 1: added one by one, as far as what is known of their
// inputs allows.
#pragma once

#include "frontend/onnx/import/TryImport.h"
#include "runtime/tensor/SizeRange.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <map>
#include <optional>

namespace headrace::onnx {

/// Whether a node is one that can be imported, given that its inputs are tensors of numbers.
bool isImportable(const Node &node, int64_t opset);

class RegionImporter {
public:
  /// `opset` is the version of the standard operators if a node does not say otherwise. The
  /// program is meant for `sizes` alone, as in Symbols.
  RegionImporter(const std::string &name, mlir::MLIRContext &context, int64_t opset,
                 const SizeRanges &sizes = {});
  ~RegionImporter();

  bool has(const std::string &value) const;
  void addConstant(const std::string &name, const Tensor &tensor);
  /// A size that is given, or open: a multiple of `step`, with a name that it shares with its
  /// equals.
  struct Size {
    std::optional<int64_t> value;
    std::string symbol;
    int64_t step = 1;
  };
  void addInput(const std::string &name, DType dtype, const std::vector<Size> &sizes);
  /// Specializes the program: from here on the input has this value.
  void fixInput(const std::string &name, const Tensor &tensor);

  /// A number of 1 or more: a symbol and a constant.
  struct Number {
    std::string symbol;
    int64_t more = 0;
  };
  /// Adds an integer value whose elements are known except for the open ones. Those are passed as
  /// the dimensions of an input without elements, after a first dimension of 0.
  void addSizes(const std::string &name, const Tensor &tensor,
                const std::map<size_t, Number> &open);

  /// Like tryImportNode, but a node that is not imported leaves no trace.
  std::optional<Unimported> tryImport(const Node &node);

  /// The program that yields these values; the importer is empty afterwards.
  mlir::OwningOpRef<mlir::ModuleOp> finish(const std::vector<std::string> &outputs);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace headrace::onnx
