#include "frontend/expr/StageOperands.h"

using namespace mlir;

namespace headrace::expr {

SmallVector<Axis> axesOf(const FlatStage &stage) {
  SmallVector<Axis> axes(stage.info->axes.begin(), stage.info->axes.end());
  if (stage.reduction)
    llvm::append_range(axes, stage.reduction->axes);
  return axes;
}

Value named(OperatorBuilder &ops, Value value, const std::string &name,
            ArrayRef<std::string> axes) {
  Operation *op = value.getDefiningOp();
  op->setLoc(NameLoc::get(ops.builder.getStringAttr(name)));
  op->setAttr(kStageAttr, ops.builder.getStringAttr(name));
  SmallVector<StringRef> names(axes.begin(), axes.end());
  if (!axes.empty())
    op->setAttr(kAxesAttr, ops.builder.getStrArrayAttr(names));
  return value;
}

static void listAxes(const Expr &expr, std::set<const AxisInfo *> &used,
                     std::set<const Node *> &seen) {
  if (!seen.insert(expr.get()).second)
    return;
  if (expr.op() == Op::Position)
    used.insert(expr->axis.get());
  for (const Expr &operand : expr.operands())
    listAxes(operand, used, seen);
}

template <class T> static size_t findOrAdd(SmallVectorImpl<T> &list, const T &item) {
  size_t position = llvm::find(list, item) - list.begin();
  if (position == list.size())
    list.push_back(item);
  return position;
}

void StageOperands::addDataIndex(const DataIndex &index, const Accesses &accesses) {
  std::string subject = "stage '" + stage.name + "'";
  auto access = accesses.reads.find(index.value.get());
  bool isOperand = access != accesses.reads.end() && !access->second.byIndex &&
                   index.value.dtype() != DType::Bool;
  StageOperand operand = isOperand ? readOperand(access->second, accesses) : computedIndex(index);
  AffineExpr size = sizes.convert(index.read->stage->shape[index.dim]);
  std::optional<int64_t> unread;
  if (index.isGuarded)
    unread = DataIndex::unread;
  operand.value =
      ops.checkedIndices(operand.value, size, unread, subject + ": " + index.read.text());
  indexNumbers[{index.read.get(), index.dim}] = findOrAdd(operandList, operand);
}

/// A stage for the index alone, along the axes that it depends on.
StageOperand StageOperands::computedIndex(const DataIndex &index) {
  std::set<const AxisInfo *> used;
  std::set<const Node *> seen;
  listAxes(index.value, used, seen);
  auto info = std::make_shared<StageInfo>();
  info->dtype = DType::I64;
  SmallVector<AffineExpr> dims;
  for (auto [i, axis] : llvm::enumerate(axesOf(stage)))
    if (used.contains(axis.get())) {
      info->axes.push_back(axis);
      info->shape.push_back(axis->extent);
      dims.push_back(getAffineDimExpr(i, ops.context));
    }
  FlatStage computed{info, partName(*index.read->stage, "index"), nullptr,
                     expr::cast(index.value, DType::I64)};
  return {writeStage(computed, ops, symbols, sizes, values),
          AffineMap::get(domain.rank(), 0, dims, ops.context)};
}

void StageOperands::collect(const Expr &value, const Accesses &accesses) {
  // In the order in which the expression reads them.
  std::vector<const Node *> order;
  std::set<const Node *> seen;
  listReads(value, order, seen);
  for (const Node *node : order) {
    const Access &access = accesses.reads.at(node);
    if (access.byIndex) {
      Value tensor = values.at(access.tensor.get());
      requireElements(tensor);
      tableNumbers[node] = findOrAdd(tableList, tensor);
    } else {
      operandNumbers[node] = findOrAdd(operandList, readOperand(access, accesses));
    }
  }
}

StageOperand StageOperands::readOperand(const Access &access, const Accesses &accesses) {
  Padding padding;
  if (auto found = accesses.padding.find(access.tensor.get()); found != accesses.padding.end())
    padding = found->second;
  Value &source = padded[access.tensor.get()];
  if (!source)
    source = pad(values.at(access.tensor.get()), padding, partName(*access.tensor, "pad"));
  return viewOf(source, access, padding);
}

void StageOperands::listReads(const Expr &expr, std::vector<const Node *> &order,
                              std::set<const Node *> &seen) const {
  if (!seen.insert(expr.get()).second)
    return;
  if (expr.op() == Op::Read)
    order.push_back(expr.get());
  for (auto [i, operand] : llvm::enumerate(expr.operands()))
    if (!indexNumbers.contains({expr.get(), i}))
      listReads(operand, order, seen);
}

/// A table is never empty if it is read, whatever the dynamic dimensions are: an index is brought
/// inside. Sizes 0 and 1 of a symbol are compiled for themselves and know.
void StageOperands::requireElements(Value tensor) {
  SymbolicShape shape = shapeOf(tensor);
  for (AffineExpr size : shape)
    if (!constantValue(size) && !isa<AffineSymbolExpr>(size))
      ops.requireNonNegative(size - 1, "a size of a gathered tensor");
}

/// "C.A.pad": what the stage makes of a tensor before it reads it.
std::string StageOperands::partName(const StageInfo &tensor, const char *what) const {
  return stage.name + "." + (tensor.name.empty() ? "input" : tensor.name) + "." + what;
}

Value StageOperands::pad(Value tensor, const Padding &padding, const std::string &name) {
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (llvm::all_of(padding.low, isZero) && llvm::all_of(padding.high, isZero))
    return tensor;
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  return named(ops,
               ops.infer<hr::PadOp>(tensor, padding.low, padding.high,
                                    cast<TypedAttr>(ops.builder.getZeroAttr(element))),
               name);
}

StageOperand StageOperands::viewOf(Value source, const Access &access, const Padding &padding) {
  SymbolicShape shape = shapeOf(source), kept;
  SmallVector<AffineExpr> starts, exprs;
  SmallVector<int64_t> steps;
  bool whole = true;
  for (auto [i, dim] : llvm::enumerate(access.dims)) {
    int64_t low = padding.low.empty() ? 0 : padding.low[i];
    starts.push_back(normalized(dim.start + low));
    kept.push_back(dim.size);
    steps.push_back(dim.step);
    exprs.push_back(dim.map);
    whole &= constantValue(starts.back()) == 0 && dim.step == 1 && sameSize(dim.size, shape[i]);
  }
  AffineMap map = AffineMap::get(domain.rank(), 0, exprs, ops.context);
  if (whole)
    return {source, map};
  Type element = cast<RankedTensorType>(source.getType()).getElementType();
  Value part = ops.create<hr::SliceOp>(ops.checkedType(kept, element), source,
                                       symbolMap(starts, ops.context), steps);
  std::string name = partName(*access.tensor, "part");
  if (parts++ > 0)
    name += std::to_string(parts);
  return {named(ops, part, name), map};
}

std::optional<size_t> StageOperands::operandOf(const Expr &expr) const {
  auto found = operandNumbers.find(expr.get());
  return found == operandNumbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<StageOperand> StageOperands::operandFor(const Expr &expr) const {
  std::optional<size_t> number = operandOf(expr);
  return number ? std::optional(operandList[*number]) : std::nullopt;
}

std::optional<size_t> StageOperands::dataIndexOf(const Expr &read, size_t dim) const {
  auto found = indexNumbers.find({read.get(), dim});
  return found == indexNumbers.end() ? std::nullopt : std::optional(found->second);
}

} // namespace headrace::expr
