// The tensors that a stage reads, as its operator does: through slices and padding by a map of the
// domain, or as tables by computed indices.
#pragma once

#include "frontend/expr/IndexChecks.h"
#include "frontend/expr/StageWriter.h"

#include <set>

namespace headrace::expr {

/// A tensor as the stage reads it: after slices, by a map of the domain.
struct StageOperand {
  mlir::Value value;
  mlir::AffineMap map;
  bool operator==(const StageOperand &) const = default;
};

/// The stage's own axes, then those it reduces.
llvm::SmallVector<Axis> axesOf(const FlatStage &stage);

/// Marks an operator so that recipes find it; `axes` are the names of its dimensions.
mlir::Value named(OperatorBuilder &ops, mlir::Value value, const std::string &name,
                  llvm::ArrayRef<std::string> axes = {});

class StageOperands {
public:
  StageOperands(const FlatStage &stage, const Domain &domain, OperatorBuilder &operators,
                Symbols &symbols, SizeTable &sizes, const StageValues &values)
      : stage(stage), domain(domain), ops(operators), symbols(symbols), sizes(sizes),
        values(values) {}

  /// An index that depends on data is an operand, checked before this stage reads by it.
  void addDataIndex(const DataIndex &index, const Accesses &accesses);
  /// The tensors of all reads of the value.
  void collect(const Expr &value, const Accesses &accesses);

  llvm::ArrayRef<StageOperand> operands() const { return operandList; }
  llvm::ArrayRef<mlir::Value> tables() const { return tableList; }

  /// The operand that the expression is, if it is a read by a map.
  std::optional<StageOperand> operandFor(const Expr &expr) const;
  /// Its number.
  std::optional<size_t> operandOf(const Expr &expr) const;
  /// The number of the operand that is the index of a read in one dimension, if it is one.
  std::optional<size_t> dataIndexOf(const Expr &read, size_t dim) const;
  /// The number of the table of a read by index.
  size_t tableOf(const Expr &read) const { return tableNumbers.at(read.get()); }

private:
  StageOperand computedIndex(const DataIndex &index);
  StageOperand readOperand(const Access &access, const Accesses &accesses);
  void listReads(const Expr &expr, std::vector<const Node *> &order,
                 std::set<const Node *> &seen) const;
  void requireElements(mlir::Value tensor);
  std::string partName(const StageInfo &tensor, const char *what) const;
  mlir::Value pad(mlir::Value tensor, const Padding &padding, const std::string &name);
  StageOperand viewOf(mlir::Value source, const Access &access, const Padding &padding);

  const FlatStage &stage;
  const Domain &domain;
  OperatorBuilder &ops;
  Symbols &symbols;
  SizeTable &sizes;
  const StageValues &values;
  llvm::SmallVector<StageOperand> operandList;
  llvm::SmallVector<mlir::Value> tableList;
  std::map<const Node *, size_t> operandNumbers, tableNumbers;
  std::map<std::pair<const Node *, size_t>, size_t> indexNumbers; // by read and dimension
  std::map<const StageInfo *, mlir::Value> padded;
  int parts = 0;
};

} // namespace headrace::expr
