#include "target/coarse/MapPieces.h"

#include "runtime/system/Error.h"

using namespace mlir;

namespace headrace::coarse {

namespace {

/// Maps terms, each once.
class Mapper {
public:
  Mapper(rewrite::Terms &terms, const rewrite::Accelerator &machine, Search search,
         Mappings &mappings)
      : terms(terms), machine(machine), search(search), mappings(mappings) {}

  const rewrite::Mapping &map(rewrite::TermId term) {
    auto known = mappings.find(term);
    if (known == mappings.end())
      known = mappings.emplace(term, search(term)).first;
    return known->second;
  }

  /// Why the machine cannot compute an operator; empty if it can.
  std::string reasonAgainst(Operation *op, const BatchAxis &batch) {
    const rewrite::Mapping &mapping = map(pieceOf(op, terms, batch).term);
    if (mapping.leftOver.empty())
      return "";
    return "'" + machine.name + "' has no operator for " + mapping.leftOver.front();
  }

private:
  rewrite::Terms &terms;
  const rewrite::Accelerator &machine;
  Search search;
  Mappings &mappings;
};

/// Maps that the machine lacks functions for. Those are found in no time; a search of a whole piece
/// would go on for what is not there.
void blameMaps(const ProgramView &view, Mapper &mapper, ViewOptions &options) {
  for (const Piece &piece : view.pieces)
    for (Operation *op : piece.operators)
      if (isa<hr::MapOp>(op))
        if (std::string reason = mapper.reasonAgainst(op, view.batch); !reason.empty())
          options.reasonsAgainst[op] = reason;
}

/// Tells the next view about a piece that did not map: the operators to blame, or, if
/// each maps alone and the search ended too early, that its parts are to be searched one by one.
void divide(const Piece &piece, const BatchAxis &batch, Mapper &mapper, ViewOptions &options) {
  bool isBlamed = false;
  SmallVector<Operation *> computing;
  for (Operation *op : piece.operators) {
    if (!computes(op))
      continue;
    computing.push_back(op);
    std::string reason = mapper.reasonAgainst(op, batch);
    if (reason.empty())
      continue;
    options.reasonsAgainst[op] = reason;
    isBlamed = true;
  }
  if (isBlamed)
    return;
  if (computing.size() > 1)
    options.ends.insert(computing[computing.size() / 2 - 1]);
  else
    options.reasonsAgainst[piece.root()] = "the search ended before it was mapped";
}

} // namespace

MappedProgram mapProgram(func::FuncOp entry, rewrite::Terms &terms,
                         const rewrite::Accelerator &machine, Unmapped unmapped, Search search,
                         Mappings &known) {
  Mapper mapper(terms, machine, search, known);
  ViewOptions parts;
  if (unmapped == Unmapped::EndsPiece)
    blameMaps(viewOf(entry, terms, parts), mapper, parts);
  while (true) {
    ProgramView view = viewOf(entry, terms, parts);
    bool isDivided = false;
    for (const Piece &piece : view.pieces) {
      const rewrite::Mapping &mapping = mapper.map(piece.term);
      // A search that came to its end leaves over what the machine lacks, and nothing else.
      bool isWhole = mapping.saturation.reason == rewrite::StopReason::Saturated;
      if (mapping.leftOver.empty() || (unmapped == Unmapped::StaysInPiece && isWhole))
        continue;
      divide(piece, view.batch, mapper, parts);
      isDivided = true;
    }
    if (isDivided)
      continue;
    MappedProgram program{view.batch, {}, std::move(view.leftOver)};
    for (Piece &piece : view.pieces) {
      const rewrite::Mapping &mapping = mapper.map(piece.term);
      program.pieces.push_back({std::move(piece), mapping});
    }
    return program;
  }
}

SmallVector<Value> ReplacedPieces::inputsOf(const Piece &piece) const {
  SmallVector<Value> inputs;
  for (const PieceInput &input : piece.inputs) {
    auto replaced = results.find(input.value);
    inputs.push_back(replaced == results.end() ? input.value : replaced->second);
  }
  return inputs;
}

void ReplacedPieces::replace(const Piece &piece, Value result) {
  Value old = piece.root()->getResult(0);
  results[old] = result;
  old.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(piece.operators))
    op->erase();
}

} // namespace headrace::coarse
