// Before:
//   %x = hr.map(%q) { sitofp, mulf 2^-5 } : i8 -> f32 ; %0 = hr.conv %x, %w
//   %1 = hr.map(%0, %b) { addf } ; %2 = hr.map(%1) { divf 2^-4, roundeven, clip } : f32 -> i8
//   %3 = hr.softmax ...
// After:
//   module @k_conv1 attributes {hr.target = "vta", vta.operator = {core = "convolution", ...}}
//   %p = hr.transpose (hr.reshape (hr.pad %q)) : tensor<1x1x14x14x1x16xi8>
//   %r = hr.launch @k_conv1(%p) : tensor<1x2x14x14x1x16xi8>
//   %2 = hr.slice (hr.reshape (hr.transpose %r)) ; %3 = hr.softmax ...
//
// Values that one launch writes and another reads stay in the accelerator's layout.
#include "target/vta/OffloadOperators.h"

#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "target/Placement.h"
#include "target/vta/OperatorAttribute.h"
#include "target/vta/Packing.h"
#include "target/vta/fixed/ProgramChains.h"
#include "target/vta/schedule/LegalSchedule.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/KernelSymbol.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace headrace::vta {

using hr::typeOf;

namespace {

/// A chain that the accelerator takes.
struct Taken {
  Operation *root;
  Chain chain;
  Operator op;
};

class Taker {
public:
  Taker(func::FuncOp program, const std::string &target, const Configuration &configuration)
      : program(program), target(target), configuration(configuration), chains(configuration) {}

  void run() {
    Choices choices(program);
    for (Operation &op : llvm::make_early_inc_range(program.getBody().front()))
      if (isa<hr::MapOp, hr::ConvOp, hr::ContractOp, hr::PoolOp>(op) &&
          isStored(op.getResult(0).getType()))
        consider(&op, choices);
    for (Taken &chain : taken)
      launch(chain, choices);
    for (Taken &chain : llvm::reverse(taken))
      replace(chain);
    // Operators that went into chains, and layouts that nobody asked for.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    noteReasons();
  }

private:
  void consider(Operation *root, Choices &choices) {
    for (bool joins : {true, false})
      try {
        chains.setJoins(joins);
        return consider(root, chains.endingIn(root), choices);
      } catch (const Unsupported &refusal) {
        if (joins)
          continue;
        for (Operation *op : chains.visited())
          if (std::string &reason = reasons[op]; reason.empty())
            reason = refusal.what();
      }
  }

  void consider(Operation *root, Chain chain, Choices &choices) {
    Value result = root->getResult(0);
    if (std::holds_alternative<Cells>(chain.core) && chain.stages.empty() &&
        chain.sources[0].value.getType() == result.getType()) {
      // The integers that it reads, as they are.
      result.replaceAllUsesWith(chain.sources[0].value);
      return;
    }
    requireOwn(chain, root);
    // A chain that goes on with another takes its place.
    auto isPart = [&](const Taken &other) { return chain.operators.contains(other.root); };
    auto part = llvm::find_if(taken, isPart);
    std::string before = part == taken.end() ? "" : part->op.name;
    Operator op{nameOf(chain, root, before, choices), chain.sources[0].image, chain.core,
                chain.stages};
    if (std::string reason = unsupportedReason(op, configuration); !reason.empty())
      throw Unsupported(reason);
    if (part != taken.end())
      taken.erase(part);
    names.insert(op.name);
    int64_t offset = typeOf(result).getElementType().isUnsignedInteger() ? 128 : 0;
    chains.setRange(result, {chain.range.low + offset, chain.range.high + offset});
    taken.push_back({root, std::move(chain), std::move(op)});
  }

  /// The product's or pooling's; of cells, that of the map that reads several values.
  std::string nameOf(const Chain &chain, Operation *root, StringRef before,
                     const Choices &choices) const {
    Operation *anchor = root;
    if (!chain.own.empty())
      anchor = chain.own.front();
    else
      for (Operation *op : chain.operators)
        if (op->getNumOperands() > 1)
          anchor = op;
    std::string name = operatorName(anchor);
    return names.contains(name) && name != before ? choices.nameOf(anchor).str() : name;
  }

  /// A product that others read as floats would be computed twice.
  static void requireOwn(const Chain &chain, Operation *root) {
    for (Operation *op : chain.own)
      if (op != root)
        for (Operation *user : op->getUsers())
          if (!chain.operators.contains(user))
            throw Unsupported("its floats are read by " + operatorName(user) + ", too");
  }

  /// The value in DRAM, in the layout of an image.
  Value inDram(const Source &source, StringRef name) {
    Value value = source.value;
    auto key = [&](Value v) {
      return std::pair(v, packedType(source.image, configuration, v.getContext()));
    };
    if (Value known = memory.lookup(key(value)))
      return known;
    // Another shape of what is there in the same order.
    if (auto view = value.getDefiningOp<hr::ReshapeOp>())
      if (auto known = images.find(view.getInput());
          known != images.end() && known->second == source.image)
        return memory.lookup(key(view.getInput()));
    OpBuilder b(program.getContext());
    b.setInsertionPointAfterValue(value);
    Location loc = NameLoc::get(b.getStringAttr(name + kPackSuffix));
    return memory[key(value)] = packed(b, loc, value, source.image, configuration);
  }

  void launch(Taken &part, Choices &choices) {
    OpBuilder b(part.root);
    Location loc = part.root->getLoc();
    SmallVector<Value> operands;
    for (const Source &source : part.chain.sources)
      operands.push_back(inDram(source, part.op.name));
    SmallVector<Attribute> operators;
    for (Operation &op : program.getBody().front())
      if (part.chain.operators.contains(&op))
        if (auto name = b.getStringAttr(operatorName(&op)); !llvm::is_contained(operators, name))
          operators.push_back(name);
    auto kernel = ModuleOp::create(loc, kernelSymbol(part.op.name));
    kernel->setAttr(kTargetAttr, b.getStringAttr(target));
    kernel->setAttr(kOperatorAttr, attributeOf(part.op, b.getContext()));
    if (std::optional<std::string> recipe = choices.scheduleOf(part.op.name))
      kernel->setAttr(kRecipeAttr, b.getStringAttr(*recipe));
    SymbolTable(program->getParentOfType<ModuleOp>()).insert(kernel); // makes the name unique
    RankedTensorType type = packedType(part.chain.result, configuration, b.getContext());
    auto launch = b.create<hr::LaunchOp>(loc, TypeRange(type), operands,
                                         FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                                         b.getStringAttr(part.op.name), b.getArrayAttr(operators),
                                         AffineMapAttr::get(costOf(part, operands, type)));
    launch->setAttr(kKernelAttr, b.getStringAttr(part.op.name));
    Value result = part.root->getResult(0);
    memory[{result, type}] = launch->getResult(0);
    images[result] = part.chain.result;
  }

  static AffineMap costOf(const Taken &part, ArrayRef<Value> operands, RankedTensorType type) {
    MLIRContext *context = type.getContext();
    AffineExpr read = constantDim(0, context), moved = read;
    for (Value operand : operands)
      read = read + byteCount(typeOf(operand));
    for (Operation *op : part.chain.operators)
      if (op != part.root) // once written, and read at least once
        moved = moved + byteCount(typeOf(op->getResult(0))) * 2;
    int64_t cells = typeOf(part.root->getResult(0)).getNumElements();
    int64_t operations = 2 * part.op.macs() + cells * static_cast<int64_t>(part.op.stages.size());
    return symbolMap(
        {normalized(read), byteCount(type), constantDim(operations, context), normalized(moved)},
        context);
  }

  /// The host reads the value in its own layout.
  void replace(Taken &part) {
    OpBuilder b(part.root);
    Value result = part.root->getResult(0);
    Value lies =
        memory.lookup({result, packedType(part.chain.result, configuration, b.getContext())});
    Location loc = NameLoc::get(b.getStringAttr(part.op.name + kUnpackSuffix.str()));
    result.replaceAllUsesWith(unpacked(b, loc, lies, part.chain.result, typeOf(result)));
    part.root->erase();
  }

  void noteReasons() {
    llvm::MapVector<StringAttr, std::string> byName;
    Builder b(program.getContext());
    for (Operation &op : program.getBody().front())
      if (auto reason = reasons.find(&op); reason != reasons.end())
        byName.insert({b.getStringAttr(operatorName(&op)), reason->second});
    NamedAttrList attributes;
    for (auto &[name, reason] : byName)
      attributes.set(name, b.getStringAttr(reason));
    program->getParentOfType<ModuleOp>()->setAttr(kReasonsAttr,
                                                  attributes.getDictionary(b.getContext()));
  }

  func::FuncOp program;
  const std::string &target;
  const Configuration &configuration;
  ProgramChains chains;
  std::vector<Taken> taken;
  llvm::StringSet<> names; // of kernels
  llvm::DenseMap<Operation *, std::string> reasons;
  /// The tensor in DRAM for a value, by the type of its layout.
  llvm::DenseMap<std::pair<Value, Type>, Value> memory;
  llvm::DenseMap<Value, Image> images;
};

struct OffloadOperatorsPass : PassWrapper<OffloadOperatorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OffloadOperatorsPass)
  OffloadOperatorsPass(std::string target, const Configuration &configuration)
      : target(std::move(target)), configuration(configuration) {}

  void runOnOperation() override {
    for (auto entry : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      Taker(entry, target, configuration).run();
  }

  std::string target;
  Configuration configuration;
};

} // namespace

std::unique_ptr<Pass> createOffloadOperatorsPass(const std::string &target,
                                                 const Configuration &configuration) {
  return std::make_unique<OffloadOperatorsPass>(target, configuration);
}

} // namespace headrace::vta
