#include "frontend/onnx/import/Values.h"

#include "dialect/ConstantData.h"
#include "dialect/Hr.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

void Values::insert(const std::string &name, ImportedValue value) {
  if (!values.emplace(name, std::move(value)).second)
    throw Error(ErrorKind::InvalidModel, "value " + inQuotes(name) + " is defined twice");
  journal.push_back({name, true});
}

void Values::redefine(const std::string &name, const Tensor &constant) {
  values.erase(name);
  define(name, constant);
}

void Values::rollBack(size_t mark) {
  for (; journal.size() > mark; journal.pop_back()) {
    if (journal.back().isDefinition)
      values.erase(journal.back().name);
    else
      values.at(journal.back().name).tensor = nullptr;
  }
}

void Values::define(const std::string &name, Value tensor) {
  insert(name, {cast<RankedTensorType>(tensor.getType()), tensor, {}, std::nullopt});
}

void Values::define(const std::string &name, const Tensor &constant) {
  MLIRContext *context = builder.getContext();
  auto type = RankedTensorType::get(constant.shape(), toElementType(constant.dtype(), context));
  insert(name, {type, nullptr, constant, symbolicValue(constant, context)});
}

void Values::define(const std::string &name, const SymbolicValue &known) {
  auto type = RankedTensorType::get(known.shape, toElementType(known.dtype, builder.getContext()));
  Tensor constant;
  if (auto numbers = known.constants())
    constant = toTensor(known, *numbers);
  insert(name, {type, nullptr, constant, known});
}

void Values::alias(const std::string &name, const std::string &source) {
  // Weights become operators now, so that both names share one.
  if (!values.at(source).known)
    tensor(source);
  insert(name, ImportedValue(values.at(source)));
}

const ImportedValue *Values::find(const std::string &name) const {
  auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

Value Values::tensor(const std::string &name) {
  ImportedValue &value = values.at(name);
  if (!value.tensor) {
    value.tensor = materialize(name, value);
    journal.push_back({name, false});
  }
  return value.tensor;
}

Value Values::materialize(const std::string &name, const ImportedValue &value) {
  Location loc = NameLoc::get(builder.getStringAttr(name));
  if (value.constant)
    return createConstant(builder, loc, value.constant);
  return sizesAsData(loc, *value.known);
}

/// Dynamic dimensions that the model computes with as data, joined.
Value Values::sizesAsData(Location loc, const SymbolicValue &known) {
  Type type = toElementType(known.dtype, builder.getContext());
  auto one = RankedTensorType::get({1}, type);
  SmallVector<Value> elements;
  for (AffineExpr element : known.elements)
    elements.push_back(
        builder.create<hr::ReshapeOp>(loc, one, createSizeAsData(builder, loc, element, type)));
  Value joined = elements.front();
  if (elements.size() > 1)
    joined = builder.create<hr::ConcatOp>(loc, elements, /*axis=*/0);
  return builder.create<hr::ReshapeOp>(loc, RankedTensorType::get(known.shape, type), joined);
}

} // namespace headrace::onnx
