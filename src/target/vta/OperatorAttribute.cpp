// {name = "conv1", input = array<i64: 1, 16, 14, 14>, core = "convolution",
//  weights = dense<...>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1,
//  stages = [{op = "add", channels = array<i32: ...>}, {op = "max", number = 0 : i32}]}
#include "target/vta/OperatorAttribute.h"

#include "dialect/ConstantData.h"
#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace::vta {

namespace {

constexpr StringLiteral opNames[] = {"add", "mul", "min", "max", "shift", "round"};

DictionaryAttr attributeOf(const AluStage &stage, Builder &b) {
  NamedAttrList list;
  list.set("op", b.getStringAttr(opNames[static_cast<size_t>(stage.op)]));
  if (const auto *number = std::get_if<Immediate>(&stage.operand)) {
    list.set("number", b.getI32IntegerAttr(number->value));
  } else if (const auto *channels = std::get_if<PerChannel>(&stage.operand)) {
    list.set("channels", b.getDenseI32ArrayAttr(channels->values));
  } else {
    const auto &image = std::get<FromImage>(stage.operand);
    list.set("input", b.getI64IntegerAttr(static_cast<int64_t>(image.input)));
    list.set("type", b.getStringAttr(nameOf(image.type)));
    list.set("shift", b.getI32IntegerAttr(image.shift));
  }
  return list.getDictionary(b.getContext());
}

AluStage stageOf(DictionaryAttr attribute) {
  StringRef name = attribute.getAs<StringAttr>("op").getValue();
  auto op = static_cast<AluStage::Op>(std::ranges::find(opNames, name) - opNames);
  if (auto number = attribute.getAs<IntegerAttr>("number"))
    return {op, Immediate{static_cast<int32_t>(number.getInt())}};
  if (auto channels = attribute.getAs<DenseI32ArrayAttr>("channels"))
    return {op, PerChannel{{channels.asArrayRef().begin(), channels.asArrayRef().end()}}};
  return {op, FromImage{static_cast<size_t>(attribute.getAs<IntegerAttr>("input").getInt()),
                        *parseDType(attribute.getAs<StringAttr>("type").getValue().str()),
                        static_cast<int32_t>(attribute.getAs<IntegerAttr>("shift").getInt())}};
}

void setSliding(NamedAttrList &list, const Sliding &sliding, Builder &b) {
  list.set("strides", b.getDenseI64ArrayAttr({sliding.strideY, sliding.strideX}));
  list.set("pads", b.getDenseI64ArrayAttr(
                       {sliding.padTop, sliding.padLeft, sliding.padBottom, sliding.padRight}));
}

ArrayRef<int64_t> integers(DictionaryAttr attribute, StringRef name) {
  return attribute.getAs<DenseI64ArrayAttr>(name).asArrayRef();
}

void readSliding(Sliding &sliding, DictionaryAttr attribute) {
  ArrayRef<int64_t> strides = integers(attribute, "strides"), pads = integers(attribute, "pads");
  sliding.strideY = strides[0];
  sliding.strideX = strides[1];
  sliding.padTop = pads[0];
  sliding.padLeft = pads[1];
  sliding.padBottom = pads[2];
  sliding.padRight = pads[3];
}

} // namespace

DictionaryAttr attributeOf(const Operator &op, MLIRContext *context) {
  Builder b(context);
  NamedAttrList list;
  list.set("name", b.getStringAttr(op.name));
  list.set("input", b.getDenseI64ArrayAttr(
                        {op.input.batch, op.input.channels, op.input.height, op.input.width}));
  if (const auto *convolution = std::get_if<Convolution>(&op.core)) {
    list.set("core", b.getStringAttr("convolution"));
    auto type = RankedTensorType::get(convolution->weights.shape(), b.getI8Type());
    list.set("weights", tensorAttribute(convolution->weights, type));
    setSliding(list, *convolution, b);
    list.set("groups", b.getI64IntegerAttr(convolution->groups));
  } else if (const auto *pool = std::get_if<MaxPool>(&op.core)) {
    list.set("core", b.getStringAttr("max_pool"));
    list.set("window", b.getDenseI64ArrayAttr({pool->windowY, pool->windowX}));
    setSliding(list, *pool, b);
  } else {
    list.set("core", b.getStringAttr("cells"));
    list.set("type", b.getStringAttr(nameOf(std::get<Cells>(op.core).input)));
  }
  SmallVector<Attribute> stages;
  for (const AluStage &stage : op.stages)
    stages.push_back(attributeOf(stage, b));
  list.set("stages", b.getArrayAttr(stages));
  return list.getDictionary(context);
}

Operator operatorOf(ModuleOp kernel) {
  auto attribute = kernel->getAttrOfType<DictionaryAttr>(kOperatorAttr);
  Operator op;
  op.name = attribute.getAs<StringAttr>("name").str();
  ArrayRef<int64_t> input = integers(attribute, "input");
  op.input = {input[0], input[1], input[2], input[3]};
  StringRef core = attribute.getAs<StringAttr>("core").getValue();
  if (core == "convolution") {
    Convolution convolution;
    convolution.weights = constantTensor(attribute.getAs<ElementsAttr>("weights"));
    readSliding(convolution, attribute);
    convolution.groups = attribute.getAs<IntegerAttr>("groups").getInt();
    op.core = std::move(convolution);
  } else if (core == "max_pool") {
    ArrayRef<int64_t> window = integers(attribute, "window");
    MaxPool pool{{}, window[0], window[1]};
    readSliding(pool, attribute);
    op.core = pool;
  } else {
    op.core = Cells{*parseDType(attribute.getAs<StringAttr>("type").getValue().str())};
  }
  for (auto stage : attribute.getAs<ArrayAttr>("stages").getAsRange<DictionaryAttr>())
    op.stages.push_back(stageOf(stage));
  return op;
}

} // namespace headrace::vta
