// Before, for a machine with MVMul, VVAdd and VVRelu:
//   %0 = hr.contract %x, %w ; %1 = hr.map(%0, %b) { addf } ; %2 = hr.map(%1) { maximumf 0 }
//   %3 = hr.softmax %2
// After:
//   module @k_relu attributes {hr.target = "coarse:FILE", coarse.code = "..."}
//   %2 = hr.launch @k_relu(%w, %x, %b)
//   %3 = hr.softmax %2
#include "target/coarse/TakeOperators.h"

#include "dialect/SymbolicShape.h"
#include "rewrite/engine/Code.h"
#include "rewrite/rules/ShippedRules.h"
#include "runtime/system/Error.h"
#include "target/Placement.h"
#include "target/coarse/MapPieces.h"
#include "transform/recipe/KernelModel.h"

using namespace mlir;

namespace headrace::coarse {

namespace {

/// Far more than a layer takes; what ends the search is the number of nodes, on any machine alike.
constexpr rewrite::SaturationLimits limits{.seconds = 600};

std::string symbolFor(StringRef name) {
  std::string symbol = "k_";
  for (char c : name.take_back(48))
    symbol += llvm::isAlnum(c) ? c : '_';
  return symbol;
}

/// "8 MVMul[64, 64], 2 VVRelu[64]"
std::string operationsText(const rewrite::Mapping &mapping) {
  std::string text;
  for (const auto &[name, count] : mapping.operations)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text;
}

/// Bytes read, bytes written, operations, and bytes that the operators would move besides.
AffineMap costOf(const Piece &piece) {
  MLIRContext *context = piece.root()->getContext();
  auto bytes = [](Value value) { return byteCount(cast<RankedTensorType>(value.getType())); };
  AffineExpr read = constantDim(0, context), operations = read, moved = read;
  AffineExpr written = bytes(piece.root()->getResult(0));
  for (const PieceInput &input : piece.inputs)
    if (input.value)
      read = normalized(read + bytes(input.value));
  for (Operation *op : piece.operators) {
    operations =
        normalized(operations + cast<hr::OperatorInterface>(op).getMovement().operations(context));
    if (op != piece.root()) // once written, and read at least once
      moved = normalized(moved + bytes(op->getResult(0)) * 2);
  }
  return symbolMap({read, written, operations, moved}, context);
}

struct TakeOperatorsPass : PassWrapper<TakeOperatorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TakeOperatorsPass)
  TakeOperatorsPass(std::string target, const rewrite::Accelerator &machine,
                    std::string description)
      : target(std::move(target)), machine(machine), description(std::move(description)) {}

  void runOnOperation() override {
    rewrite::Vocabulary vocabulary;
    rewrite::Terms terms(vocabulary);
    rewrite::RuleSet rules = rewrite::shippedRules(vocabulary);
    for (auto entry : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      try {
        MappedProgram program =
            mapProgram(entry, terms, machine, rules, Unmapped::EndsPiece, limits);
        for (const MappedPiece &piece : program.pieces)
          take(piece, program.batch, terms);
        noteReasons(program.leftOver);
      } catch (const Error &error) {
        entry.emitError(error.what());
        return signalPassFailure();
      }
    }
  }

private:
  void take(const MappedPiece &mapped, const BatchAxis &batch, const rewrite::Terms &terms) {
    const Piece &piece = mapped.piece;
    Operation *root = piece.root();
    Location loc = root->getLoc();
    OpBuilder b(root);
    std::string name = operatorName(root);
    SmallVector<Value> operands;
    for (const PieceInput &input : piece.inputs)
      if (input.value)
        operands.push_back(input.value);
    SmallVector<Attribute> operators;
    for (Operation *op : piece.operators)
      if (StringAttr part = b.getStringAttr(operatorName(op)); !llvm::is_contained(operators, part))
        operators.push_back(part);
    ModuleOp kernel = ModuleOp::create(loc, symbolFor(name));
    kernel->setAttr(kTargetAttr, b.getStringAttr(target));
    kernel->setAttr(kCodeAttr, b.getStringAttr(codeOf(mapped, batch, terms)));
    kernel->setAttr(kKindAttr, b.getStringAttr("coarse operators"));
    kernel->setAttr(kLoopsAttr, b.getStringAttr(operationsText(mapped.mapping)));
    SymbolTable(getOperation()).insert(kernel); // makes the name unique
    auto launch = b.create<hr::LaunchOp>(
        loc, root->getResultTypes(), operands, FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
        b.getStringAttr(name), b.getArrayAttr(operators), AffineMapAttr::get(costOf(piece)));
    root->replaceAllUsesWith(launch);
    for (Operation *op : llvm::reverse(piece.operators))
      op->erase();
  }

  std::string codeOf(const MappedPiece &mapped, const BatchAxis &batch,
                     const rewrite::Terms &terms) const {
    rewrite::CoarseCode code;
    code.machine = description;
    code.term = mapped.mapping.term;
    bool leads = batch.leads(mapped.piece.root()->getResult(0));
    code.batch = leads ? toDimExpr(batch.size()) : DimExpr::constant(1);
    for (const PieceInput &input : mapped.piece.inputs)
      code.inputs.push_back({input.name, input.shape,
                             input.value ? std::nullopt : std::optional(input.number),
                             input.leads});
    return rewrite::toText(code, terms);
  }

  void noteReasons(ArrayRef<LeftOver> leftOver) {
    Builder b(&getContext());
    NamedAttrList reasons;
    for (const LeftOver &left : leftOver)
      reasons.set(operatorName(left.op), b.getStringAttr(left.reason));
    getOperation()->setAttr(kReasonsAttr, reasons.getDictionary(&getContext()));
  }

  std::string target;
  const rewrite::Accelerator &machine;
  std::string description;
};

} // namespace

std::unique_ptr<Pass> createTakeOperatorsPass(const std::string &target,
                                              const rewrite::Accelerator &machine,
                                              const std::string &description) {
  return std::make_unique<TakeOperatorsPass>(target, machine, description);
}

} // namespace headrace::coarse
