// Names of a program's operators, as recipes and reports use them.
//
// `every reduce over last axis` means operators by their kind, in any program.
// An operator has the name of the user's node that it comes from. If several come from one node (a
// composite operator was expanded, padding is separate) each is `node/kind`, with a number if
// several are of that kind.
#pragma once

#include "dialect/Hr.h"

#include "llvm/ADT/MapVector.h"

namespace headrace {

/// On a part of a program: nodes of which several operators come in the program, so that operators
/// are called as they are there.
inline constexpr llvm::StringLiteral kSharedNodesAttr = "hr.shared_nodes";

/// Begins names that mean operators by what they are.
inline constexpr llvm::StringLiteral kEvery = "every ";

/// A name as recipes can write it.
std::string plainName(llvm::StringRef name);

class OperatorNames {
public:
  explicit OperatorNames(mlir::Block &program);

  /// The name of one operator; empty for operations that are not operators.
  llvm::StringRef of(mlir::Operation *op) const;
  /// How closely the name means this operator: as its own, as its node's, or by what it is.
  enum class Match { None, Structure, Node, Own };
  Match match(llvm::StringRef name, mlir::Operation *op) const;
  bool means(llvm::StringRef name, mlir::Operation *op) const {
    return match(name, op) != Match::None;
  }
  /// Whether the name means any operator.
  bool isKnown(llvm::StringRef name) const;
  /// The name of the node that an operator comes from.
  llvm::StringRef nodeOf(mlir::Operation *op) const;
  /// The operator that a kernel of this name is built around: the operator's own name, or its
  /// node's, with or without the operator's kind (`gemm1`, `x:pad`). Empty if there is none.
  llvm::StringRef ofKernel(llvm::StringRef name) const;
  /// Names that are like it, for messages: "conv1, conv12".
  std::string similarTo(llvm::StringRef name) const;

private:
  struct Name {
    std::string own, node, asWritten, kind;
    bool isAnchor; // the others of a kernel join it
  };
  llvm::MapVector<mlir::Operation *, Name> names;
};

/// Why `every KIND` means no operators in any program; empty if it can mean some.
std::string faultOfKind(llvm::StringRef kind, mlir::MLIRContext *context);

} // namespace headrace
