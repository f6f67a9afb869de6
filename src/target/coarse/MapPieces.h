// A program's pieces with the operators of a machine that compute them.
#pragma once

#include "rewrite/accelerator/Mapping.h"
#include "target/coarse/view/ProgramView.h"

namespace headrace::coarse {

struct MappedPiece {
  Piece piece;
  rewrite::Mapping mapping;
};

struct MappedProgram {
  BatchAxis batch;
  std::vector<MappedPiece> pieces;
  /// Operators that have no form as a term, or that the machine cannot compute.
  std::vector<LeftOver> leftOver;
};

/// Whether operators that the machine cannot compute stay in their pieces, as terms that are left
/// over, or become boundaries of pieces. They become boundaries, too, of a piece whose search ended
/// at a limit.
enum class Unmapped { StaysInPiece, EndsPiece };

/// The mapping of each term.
using Mappings = std::unordered_map<rewrite::TermId, rewrite::Mapping>;
/// Finds the mapping of a term.
using Search = llvm::function_ref<rewrite::Mapping(rewrite::TermId)>;

/// Pieces among `known` are not searched again; those found join them.
MappedProgram mapProgram(mlir::func::FuncOp entry, rewrite::Terms &terms,
                         const rewrite::Accelerator &machine, Unmapped unmapped, Search search,
                         Mappings &known);

/// Pieces for which something else was put into the program, one after the other in their order.
class ReplacedPieces {
public:
  /// The values that are inputs of the next piece by now, null for numbers.
  llvm::SmallVector<mlir::Value> inputsOf(const Piece &piece) const;
  /// Its operators are erased.
  void replace(const Piece &piece, mlir::Value result);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> results;
};

} // namespace headrace::coarse
