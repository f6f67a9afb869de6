#include "target/coarse/view/ProgramView.h"

#include "runtime/system/Error.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace headrace::coarse {

using rewrite::ShapedTerm;

namespace {

/// The user's name of a value.
std::string nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    return name ? name.str() : "input" + std::to_string(argument.getArgNumber());
  }
  return operatorName(value.getDefiningOp());
}

/// The terms of one piece: those of its operators, and inputs for all else that they read.
class PieceWriter final : public OperandTerms {
public:
  PieceWriter(rewrite::Terms &terms, const BatchAxis &batch) : builder(terms), batch(batch) {}

  /// Throws Error with the reason why there is none.
  void add(Operation *op) {
    ShapedTerm term = termOf(op, builder, *this, batch);
    values[op->getResult(0)] = term;
    piece.term = term.id;
    piece.operators.push_back(op);
  }
  Piece finish() { return std::move(piece); }

  ShapedTerm of(Value value) override {
    auto known = values.find(value);
    return known != values.end() ? known->second : input(value, batch.inner(value));
  }

  ShapedTerm compact(Value value) override {
    if (values.contains(value))
      return of(value);
    rewrite::Shape shape = batch.inner(value);
    std::erase(shape, 1);
    return input(value, shape);
  }

  ShapedTerm scalar(double number) override {
    PieceInput input{llvm::formatv("{0}", number).str(), {}, {}, number};
    return added(std::move(input));
  }

private:
  ShapedTerm input(Value value, const rewrite::Shape &shape) {
    return added({nameOf(value), shape, value, 0, batch.leads(value)});
  }

  ShapedTerm added(PieceInput wanted) {
    int number = 0;
    std::string name = wanted.name;
    auto isTaken = [&](const PieceInput &other) { return other.name == name; };
    for (auto known = llvm::find_if(piece.inputs, isTaken); known != piece.inputs.end();
         known = llvm::find_if(piece.inputs, isTaken)) {
      if (known->value == wanted.value && known->shape == wanted.shape &&
          known->number == wanted.number)
        return builder.input(name, wanted.shape);
      name = wanted.name + "." + std::to_string(++number);
    }
    wanted.name = name;
    piece.inputs.push_back(wanted);
    return builder.input(name, wanted.shape);
  }

  rewrite::TermBuilder builder;
  const BatchAxis &batch;
  Piece piece;
  llvm::DenseMap<Value, ShapedTerm> values;
};

/// The root of each operator's piece: that of all its users, or itself.
llvm::DenseMap<Operation *, Operation *> rootsOf(ArrayRef<Operation *> operators,
                                                 const ViewOptions &options) {
  llvm::DenseMap<Operation *, Operation *> roots;
  llvm::DenseMap<Operation *, size_t> sizes;
  for (Operation *op : llvm::reverse(operators)) {
    Operation *root = nullptr;
    bool isShared = options.ends.contains(op);
    for (Operation *user : op->getUsers()) {
      Operation *of = roots.lookup(user); // null if the user is left over
      isShared |= !of || (root && root != of);
      root = of;
    }
    bool endsHere = !root || isShared || sizes[root] + computes(op) > options.maxOperators;
    roots[op] = endsHere ? op : root;
    sizes[roots[op]] += computes(op);
  }
  return roots;
}

bool isOperator(Operation &op) {
  return isa<hr::OperatorInterface>(op) && !isa<hr::ConstantOp>(op) && op.getNumResults() == 1;
}

} // namespace

bool computes(Operation *op) {
  return !isa<hr::TransposeOp, hr::ReshapeOp, hr::BroadcastOp, hr::SliceOp, hr::ConcatOp,
              hr::PadOp>(op);
}

Piece pieceOf(Operation *op, rewrite::Terms &terms, const BatchAxis &batch) {
  PieceWriter writer(terms, batch);
  writer.add(op);
  return writer.finish();
}

ProgramView viewOf(func::FuncOp entry, rewrite::Terms &terms, const ViewOptions &options) {
  ProgramView view;
  view.batch = BatchAxis::of(entry);
  SmallVector<Operation *> operators;
  for (Operation &op : entry.getBody().front()) {
    if (!isOperator(op))
      continue;
    try {
      if (auto against = options.reasonsAgainst.find(&op); against != options.reasonsAgainst.end())
        refuse(against->second);
      (void)pieceOf(&op, terms, view.batch);
      operators.push_back(&op);
    } catch (const Error &error) {
      view.leftOver.push_back({&op, error.what()});
    }
  }
  llvm::DenseMap<Operation *, Operation *> roots = rootsOf(operators, options);
  llvm::MapVector<Operation *, SmallVector<Operation *>> members;
  for (Operation *op : operators)
    members[roots[op]].push_back(op);
  for (Operation *root : operators) {
    if (roots[root] != root || llvm::none_of(members[root], computes))
      continue;
    PieceWriter writer(terms, view.batch);
    for (Operation *op : members[root])
      writer.add(op);
    view.pieces.push_back(writer.finish());
  }
  return view;
}

} // namespace headrace::coarse
