#include "frontend/onnx/import/RegionImporter.h"

#include "frontend/common/ProgramWriter.h"
#include "frontend/onnx/import/Operators.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

bool isImportable(const Node &node, int64_t opset) { return operatorOf(node, opset) != nullptr; }

struct RegionImporter::Impl {
  ProgramWriter writer;
  Values values;
  ImportState state;

  Impl(const std::string &name, MLIRContext &context, int64_t opset, const SizeRanges &sizes)
      : writer(context, name, sizes), values(writer.builder),
        state{writer.builder, writer.symbols, values, writer.diagnostics, opset} {}

  /// Takes back operators and values of a node that failed half-way.
  void rollBack(Operation *lastBefore, size_t valuesBefore, const Symbols &symbolsBefore) {
    Block &block = *writer.builder.getInsertionBlock();
    while (!block.empty() && &block.back() != lastBefore)
      block.back().erase();
    writer.builder.setInsertionPointToEnd(&block);
    values.rollBack(valuesBefore);
    writer.symbols = symbolsBefore;
  }
};

RegionImporter::RegionImporter(const std::string &name, MLIRContext &context, int64_t opset,
                               const SizeRanges &sizes)
    : impl(std::make_unique<Impl>(name, context, opset, sizes)) {}
RegionImporter::~RegionImporter() = default;

bool RegionImporter::has(const std::string &value) const {
  return impl->values.find(value) != nullptr;
}

void RegionImporter::addConstant(const std::string &name, const Tensor &tensor) {
  impl->values.define(name, tensor);
}

void RegionImporter::addInput(const std::string &name, DType dtype,
                              const std::vector<Size> &sizes) {
  MLIRContext *context = impl->writer.builder.getContext();
  SymbolicShape dims;
  for (const Size &size : sizes)
    dims.push_back(size.value ? constantDim(*size.value, context)
                              : impl->writer.symbols.get(size.symbol) * size.step);
  RankedTensorType type = tensorType(dims, toElementType(dtype, context));
  impl->values.define(name, impl->writer.addInput(name, type));
}

void RegionImporter::fixInput(const std::string &name, const Tensor &tensor) {
  impl->values.redefine(name, tensor);
}

void RegionImporter::addSizes(const std::string &name, const Tensor &tensor,
                              const std::map<size_t, Number> &open) {
  MLIRContext *context = impl->writer.builder.getContext();
  std::optional<SymbolicValue> value = symbolicValue(tensor, context);
  if (!value)
    throw Error(ErrorKind::Unsupported, "value " + inQuotes(name) + " is not a shape");
  SymbolicShape sizes = {constantDim(0, context)};
  for (const auto &[element, number] : open) {
    AffineExpr size = impl->writer.symbols.get(number.symbol) + number.more;
    if (!impl->writer.symbols.requireNonNegative(size - 1))
      throw Error(ErrorKind::Unsupported, "value " + inQuotes(name) + " is of no size");
    sizes.push_back(value->elements[element] = size);
  }
  impl->writer.addInput(name, tensorType(sizes, toElementType(DType::U8, context)));
  impl->values.define(name, *value);
}

std::optional<Unimported> RegionImporter::tryImport(const Node &node) {
  Block &block = *impl->writer.builder.getInsertionBlock();
  Operation *last = block.empty() ? nullptr : &block.back();
  size_t mark = impl->values.mark();
  Symbols symbols = impl->writer.symbols;
  try {
    std::optional<Unimported> refused = tryImportNode(node, impl->state);
    if (refused)
      impl->rollBack(last, mark, symbols);
    return refused;
  } catch (...) {
    impl->rollBack(last, mark, symbols);
    throw;
  }
}

OwningOpRef<ModuleOp> RegionImporter::finish(const std::vector<std::string> &outputs) {
  for (const std::string &output : outputs)
    impl->writer.addOutput(output, impl->values.tensor(output));
  return impl->writer.finish();
}

} // namespace headrace::onnx
