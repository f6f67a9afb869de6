// Level 1 -> level 2: partitions operators into kernels.
//
// Before:
//   %0 = hr.map(%x) { softplus } ; %1 = hr.map(%0) { tanh } ; %2 = hr.map(%x, %1) { mulf }
// After:
//   %2 = hr.kernel "mish" (%x) of ["softplus", "tanh", "mul"] { linalg.generic { all three } }
//
// Walks the program backwards; a producer joins the kernel of its users when all of them are in
// that one kernel and the group accepts it (KernelGroup says when loops can be shared and when that
// saves memory traffic). What joins is never written to memory. It hurts where a producer is cheap
// to store and dear to compute twice; groups refuse those.
#include "analysis/Machine.h"
#include "dialect/KernelSizes.h"
#include "runtime/Error.h"
#include "transform/KernelBuilder.h"
#include "transform/Passes.h"
#include "transform/recipe/KernelModel.h"
#include "transform/recipe/ProgramModel.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "transform/Passes.h.inc"

namespace {

/// Constants and reshapes move nothing and stay between kernels; slices that are views go into the
/// kernels that read them.
bool isFree(Operation *op) {
  auto slice = dyn_cast<hr::SliceOp>(op);
  return isa<hr::ConstantOp, hr::ReshapeOp>(op) || (slice && isReadInPlace(slice));
}

constexpr size_t kOwnGroup = ~size_t(0); // a recipe's kernel: nothing joins it

/// The kernel that computes a value, which may be a view of its result.
hr::KernelOp kernelOf(Value value) {
  if (auto reshape = value.getDefiningOp<hr::ReshapeOp>())
    value = reshape.getInput();
  return value.getDefiningOp<hr::KernelOp>();
}

/// The stages a recipe speaks of: they are grouped as it says, and with nothing else.
llvm::StringSet<> stagesOf(const Recipe &recipe) {
  llvm::StringSet<> names;
  for (const RecipeStep &step : recipe.steps) {
    names.insert(step.stage);
    if (step.kind == RecipeStep::Kind::ComputeAt)
      names.insert(step.target);
  }
  return names;
}

SmallVector<KernelGroup> partition(func::FuncOp func, const std::optional<LoopModel> &model) {
  SmallVector<KernelGroup> groups;
  llvm::StringSet<> scheduled = stagesOf(model ? model->recipe() : Recipe());
  llvm::StringMap<size_t> groupAt;
  llvm::DenseMap<Operation *, size_t> groupOf;
  for (Operation &op : llvm::reverse(func.getBody().front().without_terminator())) {
    auto candidate = dyn_cast<hr::OperatorInterface>(&op);
    if (!candidate || isFree(&op))
      continue;
    if (std::string stage = stageOf(&op).str(); scheduled.contains(stage)) {
      const Stage &root = model->kernelRoot(stage);
      if (root.name == stage) {
        groupAt[stage] = groups.size();
        groups.emplace_back(candidate, /*keepsAxes=*/true);
      } else {
        groups[groupAt[root.name]].join(candidate);
      }
      groupOf[&op] = kOwnGroup;
      continue;
    }
    std::optional<size_t> shared;
    bool oneGroup = !op.use_empty();
    for (Operation *user : op.getUsers()) {
      auto found = groupOf.find(user);
      oneGroup &= found != groupOf.end() && found->second != kOwnGroup &&
                  (!shared || *shared == found->second);
      if (oneGroup)
        shared = found->second;
    }
    if (oneGroup && groups[*shared].tryJoin(candidate)) {
      groupOf[&op] = *shared;
      continue;
    }
    groupOf[&op] = groups.size();
    groups.emplace_back(candidate);
  }
  return groups;
}

/// The result of an operator without a point to compute: nothing, or what its reduction starts
/// from.
Value resultOfNothing(OpBuilder &b, hr::OperatorInterface op) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value result = emptyTensor(b, loc, shapeOf(type), type.getElementType());
  TypedAttr start = op.getInitialValue();
  if (!start || llvm::is_contained(type.getShape(), 0))
    return result;
  Value value = b.create<arith::ConstantOp>(loc, start);
  return b.create<linalg::FillOp>(loc, value, result).getResult(0);
}

/// A kernel for an operator whose movement no affine map describes.
FailureOr<Value> buildIrregularKernel(OpBuilder &b, hr::OperatorInterface op) {
  MLIRContext *context = b.getContext();
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  AffineExpr bytesRead = constantDim(0, context);
  SmallVector<Value> inputs, operands;
  if (!doesNothing(op))
    operands = op->getOperands();
  for (Value operand : operands) {
    bytesRead = bytesRead + byteCount(cast<RankedTensorType>(operand.getType()));
    if (!llvm::is_contained(inputs, operand))
      inputs.push_back(operand);
  }
  std::string name = operatorName(op);
  auto kernel = b.create<hr::KernelOp>(
      op->getLoc(), TypeRange{resultType}, inputs, b.getStringAttr(kernelName(op)),
      b.getStrArrayAttr({name}),
      AffineMapAttr::get(
          symbolMap({bytesRead, byteCount(resultType), byteCount(resultType) * 0}, context)));
  Block *block = b.createBlock(&kernel.getBody());
  SmallVector<Value> arguments;
  for (Value operand : inputs)
    block->addArgument(plainType(operand.getType()), op->getLoc());
  for (Value operand : operands)
    arguments.push_back(block->getArgument(llvm::find(inputs, operand) - inputs.begin()));
  FailureOr<Value> result =
      doesNothing(op) ? resultOfNothing(b, op) : op.lowerToLinalg(b, arguments);
  if (failed(result))
    return op->emitError("cannot be compiled in this form"), failure();
  b.create<hr::YieldOp>(op->getLoc(), *result);
  b.setInsertionPointAfter(kernel);
  return kernel.getResult(0);
}

/// Inside a kernel, chains of element-wise work become one loop body. A producer that a reduction
/// and others read is kept, so that it is computed once per row.
void fuseElementwise(hr::KernelOp kernel) {
  RewritePatternSet patterns(kernel.getContext());
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [](OpOperand *operand) { return operand->get().hasOneUse(); });
  linalg::FillOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  linalg::GenericOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  (void)applyPatternsAndFoldGreedily(kernel, std::move(patterns));
}

/// A transpose of unit dimensions and the like: nothing is left to compute, its result is its
/// input.
bool dropIdentity(hr::KernelOp kernel) {
  auto same = dyn_cast<BlockArgument>(kernel.getBody().front().getTerminator()->getOperand(0));
  if (!same)
    return false;
  OpBuilder b(kernel);
  Value input = kernel.getInputs()[same.getArgNumber()];
  Type type = kernel.getResult(0).getType();
  if (input.getType() != type)
    input = b.create<hr::ReshapeOp>(kernel.getLoc(), type, input);
  kernel.getResult(0).replaceAllUsesWith(input);
  kernel.erase();
  return true;
}

/// Gives every stage a name by which recipes refer to it: the operator's kind, numbered where there
/// are several. Names do not depend on nodes, so that equal kernels stay equal.
void nameStages(hr::KernelOp kernel) {
  Builder b(kernel.getContext());
  llvm::StringMap<int> count;
  SmallVector<Operation *> stages;
  kernel.walk([&](Operation *op) {
    if (isa<linalg::LinalgOp, tensor::PadOp>(op) && !isa<linalg::FillOp>(op))
      stages.push_back(op);
  });
  for (Operation *op : stages) {
    std::string name = stageOf(op).str();
    if (name.empty()) {
      auto generic = dyn_cast<linalg::GenericOp>(op);
      name = !generic                             ? op->getName().stripDialect().str()
             : generic.getNumReductionLoops() > 0 ? "reduce"
                                                  : "map";
    }
    if (int number = count[name]++)
      name += std::to_string(number);
    op->setAttr(kStageAttr, b.getStringAttr(name));
    for (Value operand : op->getOperands())
      if (auto fill = operand.getDefiningOp<linalg::FillOp>())
        fill->setAttr(kStageAttr, b.getStringAttr(name));
  }
}

/// What the recipe says of a kernel's stages goes with it, and the names of what it reads.
void attachRecipe(hr::KernelOp kernel, const KernelGroup &group, const LoopModel &model) {
  Builder b(kernel.getContext());
  std::string root = stageOf(group.root()).str();
  Recipe recipe;
  for (const RecipeStep &step : model.recipe().steps)
    if (model.kernelRoot(step.stage).name == root)
      recipe.steps.push_back(step);
  kernel->setAttr(kRecipeAttr, b.getStringAttr(recipe.text()));
}

struct FormKernelsPass : impl::FormKernelsPassBase<FormKernelsPass> {
  using FormKernelsPassBase::FormKernelsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    Machine machine;
    machine.vectorBytes = vectorBytes;
    machine.vectorRegisters = vectorRegisters;
    std::optional<LoopModel> model;
    try {
      model = scheduledProgram(func);
    } catch (const Error &error) {
      func.emitError(error.what());
      return signalPassFailure();
    }
    SmallVector<KernelGroup> groups = partition(func, model);
    // Producers first, so that every operand of a kernel is in its final form.
    for (KernelGroup &group : llvm::reverse(groups)) {
      OpBuilder b(group.root());
      FailureOr<Value> result = failure();
      if (group.isStructured())
        result = buildKernel(b, group, machine);
      else
        result = buildIrregularKernel(b, group.root());
      if (failed(result))
        return signalPassFailure();
      if (group.keepsAxes())
        attachRecipe(kernelOf(*result), group, *model);
      group.root()->getResult(0).replaceAllUsesWith(*result);
      for (hr::OperatorInterface op : group.getOperators())
        op->erase();
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
      if (isa<hr::SliceOp>(op) && op.use_empty())
        op.erase();
    func.walk([](hr::KernelOp kernel) {
      if (!kernel->hasAttr(kRecipeAttr))
        fuseElementwise(kernel);
      if (!dropIdentity(kernel))
        nameStages(kernel);
    });
  }
};

} // namespace
} // namespace headrace
