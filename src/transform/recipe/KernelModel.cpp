#include "transform/recipe/KernelModel.h"

#include "dialect/Hr.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {

StringRef stageOf(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(kStageAttr);
  return name ? name.getValue() : StringRef();
}

std::string typeName(Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(value.getType());
  return text;
}

std::string axisName(Operation *op, unsigned dim) {
  if (auto names = op->getAttrOfType<ArrayAttr>(kAxesAttr); names && dim < names.size())
    return cast<StringAttr>(names[dim]).str();
  return "d" + std::to_string(dim);
}

std::optional<unsigned> axisDim(Operation *op, StringRef axis) {
  unsigned dims = 0;
  if (auto tileable = dyn_cast<TilingInterface>(op))
    dims = tileable.getLoopIteratorTypes().size();
  for (unsigned dim = 0; dim < dims; ++dim)
    if (axisName(op, dim) == axis)
      return dim;
  return std::nullopt;
}

bool isBorder(Operation *op) {
  auto pad = dyn_cast<tensor::PadOp>(op);
  Operation *computed = pad ? pad.getSource().getDefiningOp() : nullptr;
  return computed && stageOf(pad).empty() && !isa<tensor::ExtractSliceOp>(computed) &&
         !isa<bufferization::ToTensorOp>(computed);
}

KernelContents KernelContents::of(func::FuncOp kernel) {
  KernelContents contents;
  kernel.walk([&](Operation *op) {
    if (!stageOf(op).empty() && !isa<linalg::FillOp>(op)) {
      contents.ops.push_back(op);
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (generic && generic.getNumReductionLoops() > 0)
        contents.reductions.push_back(generic);
    }
    if (auto store = dyn_cast<bufferization::MaterializeInDestinationOp>(op))
      contents.root = store.getSource().getDefiningOp();
    if (contents.root && isBorder(contents.root))
      contents.root = cast<tensor::PadOp>(contents.root).getSource().getDefiningOp();
  });
  if (contents.root && !llvm::is_contained(contents.ops, contents.root))
    contents.root = nullptr;
  return contents;
}

std::string sourceName(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!stageOf(op).empty() && !isa<linalg::FillOp>(op))
      return stageOf(op).str();
    if (!isa<tensor::ExtractSliceOp, bufferization::ToTensorOp>(op))
      return "";
    value = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  if (auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
    if (auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
      return name.str();
  return "in" + std::to_string(argument.getArgNumber());
}

std::optional<ReadDim> linearTerms(AffineExpr expr, std::optional<int64_t> extent) {
  ReadDim dim{{}, extent};
  std::function<bool(AffineExpr, int64_t)> add = [&](AffineExpr e, int64_t factor) {
    if (auto d = dyn_cast<AffineDimExpr>(e))
      return dim.terms.emplace_back(d.getPosition(), factor), true;
    if (isa<AffineConstantExpr>(e))
      return true;
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    if (binary && e.getKind() == AffineExprKind::Add)
      return add(binary.getLHS(), factor) && add(binary.getRHS(), factor);
    auto constant = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr();
    return binary && e.getKind() == AffineExprKind::Mul && constant &&
           add(binary.getLHS(), factor * constant.getValue());
  };
  return add(expr, 1) ? std::optional(dim) : std::nullopt;
}

bool combinesInAnyOrder(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return false;
  SmallVector<Operation *> combiners;
  return matchReduction(op.getRegionOutputArgs(), 0, combiners) && combiners.size() == 1 &&
         isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp, arith::AddIOp,
             arith::MulIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp>(combiners.front());
}

namespace {

std::optional<int64_t> knownSize(int64_t size) {
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

void readOperands(Stage &stage, linalg::LinalgOp op) {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    std::string source = sourceName(operand->get());
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    if (source.empty() || !type)
      continue;
    StageRead read{source, {}};
    read.type = typeName(operand->get());
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      std::optional<ReadDim> dim = linearTerms(expr, knownSize(type.getDimSize(i)));
      read.irregular |= !dim;
      read.dims.push_back(dim.value_or(ReadDim{}));
    }
    stage.reads.push_back(std::move(read));
  }
  op->walk([&](tensor::ExtractOp extract) {
    if (std::string source = sourceName(extract.getTensor()); !source.empty())
      stage.reads.push_back({source, {}, /*irregular=*/true});
  });
}

Stage stageOfOperation(Operation *op, bool isOutput) {
  Stage stage;
  stage.name = stageOf(op).str();
  stage.isOutput = isOutput;
  auto tileable = cast<TilingInterface>(op);
  SmallVector<IteratorType> iterators = tileable.getLoopIteratorTypes();
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  SmallVector<int64_t> ranges;
  if (linalgOp)
    llvm::append_range(ranges, linalgOp.getStaticLoopRanges());
  else
    llvm::append_range(ranges, cast<RankedTensorType>(op->getResult(0).getType()).getShape());
  for (auto [dim, kind] : llvm::enumerate(iterators)) {
    stage.axes.push_back(
        {axisName(op, dim), knownSize(ranges[dim]), kind == IteratorType::reduction});
  }
  if (linalgOp) {
    readOperands(stage, linalgOp);
    AffineMap result = linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
    for (AffineExpr expr : result.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      stage.result.push_back(dim ? static_cast<int>(dim.getPosition()) : -1);
    }
  } else {
    for (Value operand : op->getOperands())
      if (std::string source = isa<RankedTensorType>(operand.getType()) ? sourceName(operand) : "";
          !source.empty())
        stage.reads.push_back({source, {}, /*irregular=*/true});
    for (size_t dim = 0; dim < iterators.size(); ++dim)
      stage.result.push_back(static_cast<int>(dim));
  }
  if (auto units = op->getAttrOfType<ArrayAttr>(kUnitAxesAttr))
    for (auto name : units.getAsRange<StringAttr>())
      stage.axes.push_back({name.str(), 1, false});
  stage.type = typeName(op->getResult(0));
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    stage.reorderable = combinesInAnyOrder(generic);
  return stage;
}

} // namespace

LoopModel modelOfKernel(func::FuncOp kernel) {
  KernelContents contents = KernelContents::of(kernel);
  std::vector<Stage> stages;
  for (Operation *op : contents.ops)
    if (isa<TilingInterface>(op))
      stages.push_back(stageOfOperation(op, op == contents.root));
  return LoopModel(std::move(stages));
}

} // namespace headrace
