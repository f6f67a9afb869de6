// A program of level 1 as terms of tensors. Operators that have no form as a term are left over:
// they bound the pieces between them, each of which is one term.
#pragma once

#include "target/coarse/view/OperatorTerms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace::coarse {

/// An input of a term: a value of the program, or a number of its own.
struct PieceInput {
  std::string name; // the user's
  rewrite::Shape shape;
  mlir::Value value;
  double number = 0;  // if there is no value
  bool leads = false; // whether it has the batch's axis
};

struct Piece {
  rewrite::TermId term = 0;
  std::vector<PieceInput> inputs;
  /// In order; the last one's result is the term's.
  std::vector<mlir::Operation *> operators;

  mlir::Operation *root() const { return operators.back(); }
};

struct LeftOver {
  mlir::Operation *op;
  std::string reason;
};

struct ProgramView {
  BatchAxis batch;
  std::vector<Piece> pieces; // in the order of their roots
  std::vector<LeftOver> leftOver;
};

struct ViewOptions {
  /// Operators that are left over though they have a form as a term, and why.
  llvm::DenseMap<mlir::Operation *, std::string> reasonsAgainst;
  /// Operators that a piece ends with.
  llvm::DenseSet<mlir::Operation *> ends;
  /// A piece has no more operators that compute.
  size_t maxOperators = 24;
};

/// A value that leaves a piece is its result: a piece has one. A piece computes something.
ProgramView viewOf(mlir::func::FuncOp entry, rewrite::Terms &terms, const ViewOptions &options);

/// One operator alone. Throws Error if it has no form as a term.
Piece pieceOf(mlir::Operation *op, rewrite::Terms &terms, const BatchAxis &batch);

/// Whether it computes anything: the others only move elements.
bool computes(mlir::Operation *op);

} // namespace headrace::coarse
