// Names of a program's operators, as recipes and reports speak of them.
//
// An operator is called as the user's node it comes from. Where several come from one node (a
// coarse operator was expanded, padding stands apart) each is `node/kind`, numbered where several
// are of that kind.
#pragma once

#include "dialect/Hr.h"

namespace headrace {

class OperatorNames {
public:
  explicit OperatorNames(mlir::Block &program);

  /// The name of one operator; empty for operations that are none.
  llvm::StringRef of(mlir::Operation *op) const;
  /// Whether the name means this operator: its own, or its node's.
  bool means(llvm::StringRef name, mlir::Operation *op) const;
  /// Whether the name means any operator.
  bool isKnown(llvm::StringRef name) const;
  /// Names that are like it, for messages: "conv1, conv12".
  std::string similarTo(llvm::StringRef name) const;

private:
  struct Name {
    std::string own, node;
  };
  llvm::DenseMap<mlir::Operation *, Name> names;
};

} // namespace headrace
