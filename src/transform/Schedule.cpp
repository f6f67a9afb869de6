#include "transform/Schedule.h"

#include "transform/KernelBuilder.h"

using namespace mlir;

namespace headrace {

int64_t kernelOpId(Operation *op) {
  auto id = op->getAttrOfType<IntegerAttr>(kKernelOpIdAttr);
  return id ? id.getInt() : -1;
}

KernelContents KernelContents::of(func::FuncOp kernel) {
  KernelContents contents;
  kernel.walk([&](Operation *op) {
    if (op->hasAttr(kKernelOpIdAttr)) {
      contents.ops.push_back(op);
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (generic && generic.getNumReductionLoops() > 0)
        contents.reductions.push_back(generic);
    }
    if (auto store = dyn_cast<bufferization::MaterializeInDestinationOp>(op))
      contents.root = store.getSource().getDefiningOp();
  });
  if (contents.root && !contents.root->hasAttr(kKernelOpIdAttr))
    contents.root = nullptr;
  return contents;
}

static constexpr std::pair<Schedule::Family, StringLiteral> kFamilies[] = {
    {Schedule::Family::Loops, "loops"},
    {Schedule::Family::Elementwise, "elementwise"},
    {Schedule::Family::Rows, "rows"},
    {Schedule::Family::Tiles, "tiles"},
    {Schedule::Family::Walk, "walk"}};

StringRef familyName(Schedule::Family family) {
  for (auto [value, name] : kFamilies)
    if (value == family)
      return name;
  llvm_unreachable("all families are listed");
}

DictionaryAttr Schedule::toAttribute(MLIRContext *context) const {
  Builder b(context);
  NamedAttrList attrs;
  attrs.set("family", b.getStringAttr(familyName(family)));
  attrs.set("grid", b.getDenseI64ArrayAttr(grid));
  if (!tile.empty())
    attrs.set("tile", b.getDenseI64ArrayAttr(tile));
  if (!order.empty())
    attrs.set("order", b.getDenseI64ArrayAttr(order));
  if (vector)
    attrs.set("vector", b.getI64IntegerAttr(vector));
  if (leavesRemainder())
    attrs.set("remainder", b.getDenseI64ArrayAttr(remainder));
  return attrs.getDictionary(context);
}

std::optional<Schedule> Schedule::fromAttribute(DictionaryAttr attribute) {
  Schedule schedule;
  auto name = attribute.getAs<StringAttr>("family");
  auto *family = llvm::find_if(kFamilies, [&](auto &f) { return name && f.second == name; });
  if (family == std::end(kFamilies))
    return std::nullopt;
  schedule.family = family->first;
  auto list = [&](StringRef key, SmallVector<int64_t> &into) {
    if (auto values = attribute.getAs<DenseI64ArrayAttr>(key))
      into.assign(values.asArrayRef().begin(), values.asArrayRef().end());
  };
  auto number = [&](StringRef key, int64_t &into) {
    if (auto value = attribute.getAs<IntegerAttr>(key))
      into = value.getInt();
  };
  list("grid", schedule.grid);
  list("tile", schedule.tile);
  list("order", schedule.order);
  number("vector", schedule.vector);
  list("remainder", schedule.remainder);
  return schedule;
}

} // namespace headrace
