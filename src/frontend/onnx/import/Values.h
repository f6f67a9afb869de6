// The model's values during import: type, tensor, and elements if they are known.
#pragma once

#include "frontend/common/OperatorBuilder.h"
#include "frontend/onnx/import/SymbolicValue.h"

#include "mlir/IR/Builders.h"

#include <string>
#include <unordered_map>

namespace headrace::onnx {

struct ImportedValue {
  mlir::RankedTensorType type;
  mlir::Value tensor;                 // null until an operator reads it, for constants
  Tensor constant;                    // its data, if it is a constant
  std::optional<SymbolicValue> known; // its elements, if it is small and of integers
};

class Values {
public:
  explicit Values(mlir::OpBuilder &builder) : builder(builder) {}

  void define(const std::string &name, mlir::Value tensor);
  void define(const std::string &name, const Tensor &constant);
  void define(const std::string &name, const SymbolicValue &known);
  /// Another name for a value.
  void alias(const std::string &name, const std::string &source);

  /// Gives a value that is defined its elements.
  void redefine(const std::string &name, const Tensor &constant);

  /// Values defined and materialized since a mark can be taken back.
  size_t mark() const { return journal.size(); }
  void rollBack(size_t mark);

  /// Null for a name that nothing has defined.
  const ImportedValue *find(const std::string &name) const;

  /// The value as an operand: constants become operators at their first use.
  mlir::Value tensor(const std::string &name);

private:
  mlir::Value materialize(const std::string &name, const ImportedValue &value);
  mlir::Value sizesAsData(mlir::Location loc, const SymbolicValue &known);
  void insert(const std::string &name, ImportedValue value);

  mlir::OpBuilder &builder;
  std::unordered_map<std::string, ImportedValue> values;
  struct Change {
    std::string name;
    bool isDefinition; // else its tensor was made
  };
  std::vector<Change> journal;
};

} // namespace headrace::onnx
