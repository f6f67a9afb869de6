// Level 1 -> level 2: partitions operators into kernels.
//
// Before:
//   %0 = hr.map(%x) { softplus } ; %1 = hr.map(%0) { tanh } ; %2 = hr.map(%x, %1) { mulf }
// After:
//   %2 = hr.kernel "mish" (%x) of ["softplus", "tanh", "mul"] { linalg.generic { all three } }
//
// Fusion: a value that is computed and read within one kernel is never written to memory (Partition
// says which operators go together). It hurts if a producer is cheap to store and dear to
// compute twice; groups reject those.
#include "analysis/Machine.h"
#include "analysis/OperatorWork.h"
#include "dialect/KernelSizes.h"
#include "runtime/system/Error.h"
#include "transform/Passes.h"
#include "transform/choices/OperatorNames.h"
#include "transform/choices/Verbs.h"
#include "transform/kernels/KernelBuilder.h"
#include "transform/kernels/Partition.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/kernels/ValueNumbers.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "transform/Passes.h.inc"

namespace {

/// The kernel that computes a value, which may be a view of its result.
hr::KernelOp kernelOf(Value value) {
  if (auto reshape = value.getDefiningOp<hr::ReshapeOp>())
    value = reshape.getInput();
  return value.getDefiningOp<hr::KernelOp>();
}

/// The result of an operator without a point to compute: nothing, or what its reduction starts
/// from, which is 0 if rows are added to others.
Value resultOfNothing(OpBuilder &b, hr::OperatorInterface op) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value result = emptyTensor(b, loc, shapeOf(type), type.getElementType());
  TypedAttr start = op.getInitialValue();
  if (!start)
    start = cast<TypedAttr>(b.getZeroAttr(type.getElementType()));
  if (llvm::is_contained(type.getShape(), 0))
    return result;
  Value value = b.create<arith::ConstantOp>(loc, start);
  return b.create<linalg::FillOp>(loc, value, result).getResult(0);
}

/// A kernel for an operator whose movement no affine map describes, and for those that compute what
/// it joins.
FailureOr<Value> buildIrregularKernel(OpBuilder &b, const KernelGroup &group) {
  MLIRContext *context = b.getContext();
  hr::OperatorInterface root = group.root();
  auto resultType = cast<RankedTensorType>(root->getResult(0).getType());
  AffineExpr read = constantDim(0, context);
  SizeHints sizes = sizeHints(root);
  SmallVector<Value> inputs;
  SmallVector<std::string> names;
  for (hr::OperatorInterface op : llvm::reverse(group.getOperators())) {
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      Operation *producer = operand.getDefiningOp();
      if (doesNothing(op) || (producer && group.contains(producer)))
        continue;
      // Of what a part is sliced or picked from, the kernel reads the part.
      bool isPart = op != root && number == 0;
      read = read + (isPart ? byteCount(cast<RankedTensorType>(op->getResult(0).getType()))
                            : bytesRead(op, number, sizes));
      if (!llvm::is_contained(inputs, operand))
        inputs.push_back(operand);
    }
    if (std::string name = operatorName(op); !llvm::is_contained(names, name))
      names.push_back(name);
  }
  auto kernel = b.create<hr::KernelOp>(
      root->getLoc(), TypeRange{resultType}, inputs, b.getStringAttr(kernelName(root)),
      b.getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end())),
      AffineMapAttr::get(
          symbolMap({read, byteCount(resultType), byteCount(resultType) * 0}, context)));
  Block *block = b.createBlock(&kernel.getBody());
  IRMapping inside;
  for (Value operand : inputs)
    inside.map(operand, block->addArgument(plainType(operand.getType()), root->getLoc()));
  for (hr::OperatorInterface op : llvm::reverse(group.getOperators())) {
    SmallVector<Value> arguments;
    for (Value operand : op->getOperands())
      arguments.push_back(inside.lookupOrNull(operand));
    FailureOr<Value> result =
        doesNothing(op) ? resultOfNothing(b, op) : op.lowerToLinalg(b, arguments);
    if (failed(result))
      return op->emitError("cannot be compiled: it has no loops at level 2"), failure();
    inside.map(op->getResult(0), *result);
  }
  b.create<hr::YieldOp>(root->getLoc(), inside.lookup(root->getResult(0)));
  b.setInsertionPointAfter(kernel);
  return kernel.getResult(0);
}

/// Whether this is a reduction over dimensions of size 1, which become no loops: it adds to the
/// value that it finds, and would do so at every point of a consumer that repeats it.
bool addsToItsResult(linalg::LinalgOp op) {
  return llvm::any_of(op.getDpsInitsMutable(),
                      [&](OpOperand &init) { return op.payloadUsesValueFromOperand(&init); });
}

/// Inside a kernel, chains of element-wise work become one loop body. A producer that a reduction
/// and others read is kept, so that it is computed once per row; so is one that a kernel that walks
/// rows, or a loop that runs step by step, reads along more dimensions than it has.
void fuseElementwise(hr::KernelOp kernel) {
  RewritePatternSet patterns(kernel.getContext());
  linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand *operand) {
    auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
    auto consumer = cast<linalg::LinalgOp>(operand->getOwner());
    if (addsToItsResult(producer) && !consumer.getMatchingIndexingMap(operand).isPermutation())
      return false;
    return operand->get().hasOneUse() && (!consumer->getParentOfType<LoopLikeOpInterface>() ||
                                          producer.getNumLoops() == consumer.getNumLoops());
  });
  linalg::FillOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  linalg::GenericOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  (void)applyPatternsAndFoldGreedily(kernel, std::move(patterns));
}

/// A transpose of unit dimensions and the like: nothing is left to compute, its result is its
/// input.
bool dropIdentity(hr::KernelOp kernel) {
  if (kernel.getNumResults() != 1)
    return false;
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

/// Gives every stage a name by which recipes refer to it: the operator's kind, numbered if there
/// are several. Names do not depend on nodes, so that equal kernels stay equal.
void nameStages(hr::KernelOp kernel) {
  Builder b(kernel.getContext());
  llvm::StringMap<int> count;
  SmallVector<Operation *> stages;
  kernel.walk([&](Operation *op) {
    if (isa<linalg::LinalgOp, tensor::PadOp>(op) && !isa<linalg::FillOp>(op) && !isBorder(op))
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

/// The names of stages that are launched (transform/kernels/KernelStages.h): those that authors
/// gave, and `/reduce` and the like. Every operator that computes a result has one.
class LaunchNames {
public:
  explicit LaunchNames(func::FuncOp program) {
    program.walk([&](Operation *op) {
      if (!stageOf(op).empty())
        given.insert(stageOf(op));
    });
  }

  /// Fuses what is element-wise; what computes a result keeps the name that it was given.
  void fuse(hr::KernelOp kernel) const {
    SmallVector<std::string> names;
    for (Operation *op : rootsOf(kernel))
      names.push_back(op && given.contains(stageOf(op)) ? stageOf(op).str() : "");
    fuseElementwise(kernel);
    for (auto [op, name] : llvm::zip_equal(rootsOf(kernel), names))
      if (op && !name.empty() && stageOf(op).empty())
        op->setAttr(kStageAttr, StringAttr::get(op->getContext(), name));
  }

  void name(hr::KernelOp kernel) const {
    Builder b(kernel.getContext());
    for (Operation *op : rootsOf(kernel))
      if (op && stageOf(op).empty())
        op->setAttr(kStageAttr, b.getStringAttr(op->getName().stripDialect()));
    kernel.walk([&](Operation *op) {
      StringRef name = stageOf(op);
      if (!name.empty())
        op->setAttr(kStageAttr,
                    b.getStringAttr((given.contains(name) ? "" : "/") + plainName(name)));
    });
  }

private:
  /// The operations that compute the kernel's results; null for a result that is passed on.
  static SmallVector<Operation *> rootsOf(hr::KernelOp kernel) {
    SmallVector<Operation *> roots;
    for (Value result : kernel.getBody().front().getTerminator()->getOperands())
      roots.push_back(result.getDefiningOp());
    return roots;
  }

  llvm::StringSet<> given;
};

/// Attaches to a kernel the steps of the recipe on its stages.
void attachRecipe(hr::KernelOp kernel, const KernelGroup &group, const LoopModel &model) {
  Builder b(kernel.getContext());
  std::string root = stageOf(group.root()).str();
  Recipe recipe;
  for (const RecipeStep &step : model.recipe().steps)
    if (model.kernelRoot(step.stage).name == root)
      recipe.steps.push_back(step);
  kernel->setAttr(kRecipeAttr, b.getStringAttr(recipe.text()));
}

/// Names the kernels of each group: by its root, and with a number if rows are combined in a
/// second one.
class NamedKernels : public OpBuilder::Listener {
public:
  void begin(StringRef operatorName) {
    name = operatorName.str();
    count = 0;
  }
  /// The kernel of the group itself.
  hr::KernelOp first() const { return kernel; }

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (!isa<hr::KernelOp>(op))
      return;
    if (count == 0)
      kernel = cast<hr::KernelOp>(op);
    std::string own = count == 0 ? name : name + "/combine";
    if (count > 1)
      own += "." + std::to_string(count - 1);
    ++count;
    op->setAttr(kKernelAttr, StringAttr::get(op->getContext(), own));
  }

private:
  std::string name;
  int count = 0;
  hr::KernelOp kernel;
};

struct FormKernelsPass : impl::FormKernelsPassBase<FormKernelsPass> {
  using FormKernelsPassBase::FormKernelsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    keepLastNumbers(func);
    Machine machine = machineOfTarget(target);
    machine.sharedVectorBytes = sharedVectorBytes;
    bool launches = machine.policy.recipes == KernelPolicy::Recipes::Launches;
    LaunchNames names(func);
    std::optional<LoopModel> model;
    try {
      model = scheduledProgram(func);
    } catch (const Error &error) {
      func.emitError(error.what());
      return signalPassFailure();
    }
    Choices choices(func);
    Borders borders;
    if (!model && machine.policy.recipes == KernelPolicy::Recipes::Loops)
      borders = shareBorders(func, choices);
    KernelRules rules(func, machine.policy.walksRows ? KernelRules::Loops::Shared
                                                     : KernelRules::Loops::Whole);
    SmallVector<KernelGroup> groups = partition(func, rules, model, machine, choices, borders);
    NamedKernels named;
    // Producers first, so that every operand of a kernel is in its final form.
    for (KernelGroup &group : groups) {
      OpBuilder b(group.root(), &named);
      named.begin(choices.nameOf(group.namesake()));
      if (group.isStructured()) {
        KernelForm form = givenForm(group.namesake(), choices);
        SmallVector<Replacement> results = buildKernel(b, group, machine, form);
        notePacking(group.namesake(), form.packing, choices);
        if (Attribute decided = form.attribute(&getContext()))
          named.first()->setAttr(kFormAttr, decided);
        for (auto [op, result] : results) {
          if (group.keepsAxes())
            attachRecipe(kernelOf(result), group, *model);
          op->getResult(0).replaceAllUsesWith(result);
        }
      } else {
        FailureOr<Value> result = buildIrregularKernel(b, group);
        if (failed(result))
          return signalPassFailure();
        group.root()->getResult(0).replaceAllUsesWith(*result);
      }
      if (group.border())
        group.border()->erase();
      for (hr::OperatorInterface op : group.getOperators()) {
        op->dropAllUses();
        op->erase();
      }
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
      if (isa<hr::SliceOp>(op) && op.use_empty())
        op.erase();
    // A kernel of several results may be behind a view of one of them.
    sortTopologically(&func.getBody().front());
    func.walk([&](hr::KernelOp kernel) {
      if (launches)
        names.fuse(kernel);
      else if (!kernel->hasAttr(kRecipeAttr))
        fuseElementwise(kernel);
      if (dropIdentity(kernel))
        return;
      nameStages(kernel);
      if (launches)
        names.name(kernel);
    });
    choices.finish({verbs::pack.name});
    giveSchedules(func, choices);
  }

private:
  static KernelForm givenForm(Operation *op, Choices &choices) {
    KernelForm form = KernelForm::given(choices.scheduleOf(choices.nameOf(op)).value_or(""));
    if (std::optional<std::string> wanted = choices.wanted(verbs::pack, op))
      form.packing.wanted = std::stoll(*wanted);
    return form;
  }

  static void notePacking(Operation *op, const Packing &packing, Choices &choices) {
    if (!packing.refusal.empty())
      choices.refuse(verbs::pack, op, packing.refusal);
    if (packing.columns > 0)
      choices.note(verbs::pack, op, std::to_string(packing.columns));
  }

  /// Kernels that the recipe has a schedule for.
  static void giveSchedules(func::FuncOp program, Choices &choices) {
    llvm::StringSet<> existing;
    for (auto call : program.getOps<hr::LibraryOp>())
      existing.insert(kernelNameOf(call));
    program.walk([&](hr::KernelOp kernel) {
      StringRef name = kernel->getAttrOfType<StringAttr>(kKernelAttr).getValue();
      existing.insert(name);
      if (std::optional<std::string> schedule = choices.scheduleOf(name))
        kernel->setAttr(kRecipeAttr, StringAttr::get(program.getContext(), *schedule));
    });
    // Kernels of operators that a target took before have theirs already.
    for (auto launch : program.getOps<hr::LaunchOp>())
      existing.insert(kernelNameOf(launch));
    choices.finishKernels([&](StringRef name) { return existing.contains(name); });
  }
};

} // namespace
} // namespace headrace
