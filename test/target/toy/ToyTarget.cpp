// The compiler's side: which kernels it takes, and their code.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "target/InterpretedTarget.h"
#include "transform/Passes.h"
#include "transform/kernels/KernelShapes.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "Toy.h"

using namespace mlir;

namespace headrace::toy {

namespace {

/// The code of an outlined kernel, or the first reason why there is none.
class Writer {
public:
  explicit Writer(ModuleOp module) : function(*module.getOps<func::FuncOp>().begin()) {}

  std::string refusal;

  Kernel write() {
    for (BlockArgument argument : function.getArguments()) {
      auto type = cast<MemRefType>(argument.getType());
      if (!type.getElementType().isF32())
        return refuse("computes in f32 alone"), kernel;
    }
    kernel.operands = static_cast<int>(function.getNumArguments());
    kernel.tensors.resize(function.getNumArguments());
    for (auto store : function.getOps<bufferization::MaterializeInDestinationOp>())
      place(store.getSource(), cast<BlockArgument>(store.getDest()).getArgNumber());
    for (Operation &op : function.getBody().front())
      if (refusal.empty())
        visit(op);
    return kernel;
  }

private:
  void refuse(const Twine &why) {
    if (refusal.empty())
      refusal = why.str();
  }

  void visit(Operation &op) {
    if (auto given = dyn_cast<bufferization::ToTensorOp>(op))
      place(given, cast<BlockArgument>(given.getMemref()).getArgNumber());
    else if (auto fill = dyn_cast<linalg::FillOp>(op))
      addFill(fill);
    else if (auto generic = dyn_cast<linalg::GenericOp>(op))
      addLoop(generic);
    else if (!isa<tensor::EmptyOp, hr::SizeOp, arith::ConstantOp,
                  bufferization::MaterializeInDestinationOp, func::ReturnOp>(op))
      refuse("has no rule for " + op.getName().getStringRef());
  }

  /// The value is the kernel's operand of that number.
  void place(Value value, unsigned operand) {
    if (!tensors.try_emplace(value, static_cast<int>(operand)).second)
      return refuse("yields a value twice");
    kernel.tensors[operand] = sizesOf(value);
  }

  std::vector<DimExpr> sizesOf(Value value) {
    std::vector<DimExpr> sizes;
    std::optional<SymbolicShape> shape = kernelShape(value);
    if (!shape)
      return refuse("a tensor of unknown size"), sizes;
    for (AffineExpr size : *shape)
      sizes.push_back(toDimExpr(size));
    return sizes;
  }

  int tensorOf(Value value) {
    auto [known, isNew] = tensors.try_emplace(value, static_cast<int>(kernel.tensors.size()));
    if (isNew)
      kernel.tensors.push_back(sizesOf(value));
    return known->second;
  }

  Loop::Access accessOf(int tensor, AffineMap map) {
    Loop::Access access{tensor, {}};
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      bool isFirst = expr == getAffineConstantExpr(0, map.getContext());
      if (!dim && !isFirst)
        refuse("reads in no plain order");
      access.dims.push_back(dim ? static_cast<int>(dim.getPosition()) : -1);
    }
    return access;
  }

  Loop loopOver(linalg::LinalgOp op) {
    Loop loop;
    for (AffineExpr size : loopSizes(op)) {
      if (!size)
        return refuse("a loop of unknown size"), loop;
      loop.sizes.push_back(toDimExpr(size));
    }
    return loop;
  }

  void addFill(linalg::FillOp fill) {
    auto value = fill.value().getDefiningOp<arith::ConstantOp>();
    auto number = value ? dyn_cast<FloatAttr>(value.getValue()) : FloatAttr();
    if (!number)
      return refuse("fills with no constant");
    Loop loop = loopOver(fill);
    loop.write = accessOf(tensorOf(fill.getResult(0)),
                          fill.getMatchingIndexingMap(fill.getDpsInitOperand(0)));
    loop.body = {{"constant", {}, number.getValueAsDouble()}};
    loop.result = 1;
    kernel.loops.push_back(std::move(loop));
  }

  /// A map, or a sum of products.
  void addLoop(linalg::GenericOp op) {
    if (op.getNumResults() != 1)
      return refuse("computes one result at a time");
    if (op.getNumReductionLoops() > 0 && !linalg::isaContractionOpInterface(op))
      return refuse("reduces by products alone");
    OpOperand *init = op.getDpsInitOperand(0);
    Value start = init->get();
    bool readsStart = op.payloadUsesValueFromOperand(init);
    // Sums go on where their start is: its memory becomes the result's.
    if (readsStart) {
      auto known = tensors.find(start);
      if (known == tensors.end() || !start.hasOneUse() ||
          start.getDefiningOp<bufferization::ToTensorOp>())
        return refuse("adds to what others read");
      moveTo(known->second, op.getResult(0));
    }
    Loop loop = loopOver(op);
    for (OpOperand *input : op.getDpsInputOperands()) {
      if (!isa<RankedTensorType>(input->get().getType()))
        return refuse("reads a number from outside");
      loop.reads.push_back(accessOf(tensorOf(input->get()), op.getMatchingIndexingMap(input)));
    }
    loop.write = accessOf(tensorOf(op.getResult(0)), op.getMatchingIndexingMap(init));
    addBody(op, loop);
    kernel.loops.push_back(std::move(loop));
  }

  /// Loops so far that wrote the start write the result instead.
  void moveTo(int start, Value result) {
    int tensor = tensorOf(result);
    for (Loop &loop : kernel.loops)
      if (loop.write.tensor == start)
        loop.write.tensor = tensor;
  }

  void addBody(linalg::GenericOp op, Loop &loop) {
    llvm::DenseMap<Value, int> numbers;
    for (BlockArgument argument : op.getBody()->getArguments()) {
      if (!argument.getType().isF32())
        return refuse("computes in f32 alone");
      numbers[argument] = static_cast<int>(argument.getArgNumber());
    }
    auto next = [&] { return static_cast<int>(loop.reads.size() + 1 + loop.body.size()); };
    auto numberOf = [&](Value value) {
      if (auto known = numbers.find(value); known != numbers.end())
        return known->second;
      auto constant = value.getDefiningOp<arith::ConstantOp>();
      auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
      if (!number)
        return refuse("reads a number from outside"), 0;
      int position = numbers[value] = next();
      loop.body.push_back({"constant", {}, number.getValueAsDouble()});
      return position;
    };
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (isa<arith::ConstantOp>(inner))
        continue;
      std::string name = inner.getName().stripDialect().str();
      if (!functionOf(name))
        return refuse("has no function " + inner.getName().getStringRef());
      Loop::Instruction instruction{name, {}, 0};
      for (Value operand : inner.getOperands())
        instruction.arguments.push_back(numberOf(operand));
      numbers[inner.getResult(0)] = next();
      loop.body.push_back(std::move(instruction));
    }
    loop.result = numberOf(op.getBody()->getTerminator()->getOperand(0));
  }

  func::FuncOp function;
  Kernel kernel;
  llvm::DenseMap<Value, int> tensors;
};

constexpr StringLiteral kCodeAttr = "toy.code";

struct WriteCodePass : PassWrapper<WriteCodePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WriteCodePass)
  void runOnOperation() override {
    Kernel kernel = Writer(getOperation()).write();
    getOperation()->setAttr(kCodeAttr, StringAttr::get(&getContext(), toText(kernel)));
    getOperation()->setAttr(kKindAttr, StringAttr::get(&getContext(), "interpreted"));
  }
};

class ToyTarget final : public InterpretedTarget {
public:
  ToyTarget() : InterpretedTarget(kCodeAttr) {
    Rates rates;
    rates.machine = "toy";
    rates.memory = {{1, 1000, 1000}};
    rates.f32 = rates.f64 = rates.narrow = {1000, 1000, 1000, 1000, 1000, 1000};
    description.setRates(rates);
    description.policy.channelsLast = false;
    description.policy.walksRows = false;
    description.policy.packsWeights = false;
    description.policy.recipes = KernelPolicy::Recipes::Nothing;
    description.copies = {.startMicroseconds = 1, .bytesPerMicrosecond = 100'000};
  }

  StringRef name() const override { return "toy"; }
  const Machine &machine() const override { return description; }
  ArrayRef<const Expansion *> expansions() const override {
    static const Expansion *const all[] = {&generatedAttention()};
    return all;
  }
  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<bufferization::BufferizationDialect, linalg::LinalgDialect>();
  }

  using InterpretedTarget::unsupportedReason;
  std::string unsupportedReason(ModuleOp kernel) const override {
    Writer writer(kernel);
    (void)writer.write();
    return writer.refusal;
  }

  ArrayRef<TargetPhase> phases() const override {
    static constexpr TargetPhase all[] = {
        {"loops", "level 4: kernels as lists of loops",
         [](OpPassManager &kernels, const Target &) {
           kernels.addPass(std::make_unique<WriteCodePass>());
         }},
    };
    return all;
  }

  std::string engine() const override { return std::string(toy::engine().name()); }

private:
  Machine description;
};

} // namespace

void addToy() {
  addEngine(engine());
  addTargetKind({"toy", [](StringRef, StringRef) -> std::unique_ptr<const Target> {
                   return std::make_unique<ToyTarget>();
                 }});
}

} // namespace headrace::toy
