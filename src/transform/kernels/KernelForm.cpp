#include "transform/kernels/KernelForm.h"

#include "transform/recipe/ScheduleLine.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace {

constexpr int64_t kMaxBlocks = 1024; // each has a part of what is combined in memory

std::string WalkBlocks::refusalOf(int64_t otherBlocks, int64_t otherBlock) const {
  if (blocks > 0 && otherBlock != 0)
    return "block: expected 0, since the number of blocks is fixed: each leaves a part of a result";
  if (blocks > 0 && (otherBlocks < 1 || otherBlocks > kMaxBlocks))
    return "blocks: expected 1 to " + std::to_string(kMaxBlocks);
  if (blocks == 0 && otherBlocks != 0)
    return "blocks: expected 0, since blocks have a fixed number of rows";
  if (block > 0 && (otherBlock < 1 || otherBlock % unit != 0))
    return "block: expected a multiple of " + std::to_string(unit);
  return "";
}

KernelForm KernelForm::given(StringRef schedule) {
  KernelForm form;
  form.packing.tile = parameterIn(schedule, "columns");
  form.walk.wantedBlocks = parameterIn(schedule, "blocks");
  form.walk.wantedBlock = parameterIn(schedule, "block");
  return form;
}

// The numbers of the dictionary, by name.
template <class Form> static auto numbersOf(Form &form) {
  using Number = std::pair<StringLiteral, decltype(&form.packing.columns)>;
  return std::array<Number, 5>{Number{"columns", &form.packing.columns},
                               {"features", &form.packing.features},
                               {"blocks", &form.walk.blocks},
                               {"block", &form.walk.block},
                               {"unit", &form.walk.unit}};
}

DictionaryAttr KernelForm::attribute(MLIRContext *context) const {
  if (packing.columns == 0 && walk.blocks == 0 && walk.block == 0)
    return {};
  Builder b(context);
  SmallVector<NamedAttribute> entries;
  const KernelForm undecided;
  for (auto [number, none] : llvm::zip(numbersOf(*this), numbersOf(undecided)))
    if (*number.second != *none.second)
      entries.push_back(b.getNamedAttr(number.first, b.getI64IntegerAttr(*number.second)));
  return b.getDictionaryAttr(entries);
}

KernelForm KernelForm::of(Operation *kernel) {
  KernelForm form;
  if (auto decided = kernel->getAttrOfType<DictionaryAttr>(kFormAttr))
    for (auto [name, value] : numbersOf(form))
      if (auto number = decided.getAs<IntegerAttr>(name))
        *value = number.getInt();
  return form;
}

} // namespace headrace
