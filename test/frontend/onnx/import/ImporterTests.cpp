// Imported modules: names, dynamic dimensions, constants, shape arithmetic, operators.
#include "dialect/ConstantData.h"

#include "ImportHelpers.h"

using namespace mlir;

namespace headrace::onnx::test {

TEST(Importer, KeepsTheUsersNames) {
  ModelBuilder model;
  model.input("x", {"batch", "3"}).node("Relu", {"x"}, {"r"}).node("Neg", {"r"}, {"y"}).output("y");
  model.model.graph.nodes[1].name = "";
  Imported imported(model);
  func::FuncOp main = imported.main();
  EXPECT_EQ(main.getArgAttrOfType<StringAttr>(0, kNameAttr).str(), "x");
  EXPECT_EQ(main.getResultAttrOfType<StringAttr>(0, kNameAttr).str(), "y");
  auto maps = imported.all<hr::MapOp>();
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(operatorName(maps[0]), "n0");
  EXPECT_EQ(operatorName(maps[1]), "Neg_y");
}

TEST(Importer, OneSymbolPerNameAndPerUnknownSize) {
  ModelBuilder model;
  model.input("a", {"batch", "time", "4"})
      .input("b", {"batch", "", "4"})
      .node("Relu", {"a"}, {"y"})
      .node("Relu", {"b"}, {"z"})
      .output("y")
      .output("z");
  Imported imported(model);
  auto symbols = imported.main()->getAttrOfType<ArrayAttr>(kSymbolsAttr);
  ASSERT_EQ(symbols.size(), 3u);
  EXPECT_EQ(cast<StringAttr>(symbols[2]).str(), "b_dim1");
  EXPECT_EQ(imported.resultShape(0), "s0xs1x4");
  EXPECT_EQ(imported.resultShape(1), "s0xs2x4");
}

TEST(Importer, NamesForUnknownSayNothingOfEqualSizes) {
  ModelBuilder model;
  model.input("a", {"?", "?", "None"}).node("Relu", {"a"}, {"y"}).output("y");
  Imported imported(model);
  EXPECT_EQ(imported.resultShape(0), "s0xs1xs2");
  auto symbols = imported.main()->getAttrOfType<ArrayAttr>(kSymbolsAttr);
  ASSERT_EQ(symbols.size(), 3u);
  EXPECT_EQ(cast<StringAttr>(symbols[1]).str(), "a_dim1");
}

TEST(Importer, InitializersThatAreInputsAreConstantsUsedInPlace) {
  Tensor weights = floats({32, 32});
  const void *memory = weights.data();
  auto model = std::make_unique<ModelBuilder>();
  model->input("x", {"32"})
      .input("w", {"32", "32"})
      .constant("w", weights)
      .constant("unused", floats({4}))
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y");
  Imported imported(*model);
  // The module alone keeps the weights.
  model.reset();
  weights = Tensor();
  EXPECT_EQ(imported.main().getNumArguments(), 1u);
  auto constants = imported.all<hr::ConstantOp>();
  ASSERT_EQ(constants.size(), 1u);
  Tensor seen = constantTensor(constants[0].getValue());
  EXPECT_EQ(seen.data(), memory);
  EXPECT_EQ(seen.as<float>()[1023], 1023.0f);
}

TEST(Importer, ShapeArithmeticLeavesNoOperators) {
  ModelBuilder model;
  model.input("x", {"batch", "time", "4"})
      .constant("zero", tensorOf<int64_t>(DType::I64, {}, {0}))
      .constant("one", tensorOf<int64_t>(DType::I64, {}, {1}))
      .constant("axis", ints({0}))
      .constant("tail", ints({2, -1}))
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"b"})
      .node("Gather", {"s", "one"}, {"t"})
      .node("Mul", {"b", "t"}, {"n"})
      .node("Unsqueeze", {"n", "axis"}, {"n1"})
      .node("Concat", {"n1", "tail"}, {"target"}, {attribute("axis", 0)})
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y");
  Imported imported(model);
  EXPECT_EQ(imported.all<hr::ReshapeOp>().size(), 1u);
  EXPECT_EQ(std::distance(imported.main().front().begin(), imported.main().front().end()), 2);
  EXPECT_EQ(imported.resultShape(), "s0 * s1x2x2");
}

TEST(Importer, KnownValuesAreDataToo) {
  ModelBuilder model;
  model.input("x", {"batch", "6"})
      .constant("target", ints({0, 2, 3}))
      .node("Reshape", {"x", "target"}, {"r"})
      .node("Neg", {"target"}, {"y"})
      .node("Shape", {"x"}, {"z"})
      .output("r")
      .output("y")
      .output("z");
  Imported imported(model);
  EXPECT_EQ(imported.resultShape(0), "s0x2x3");
  EXPECT_EQ(imported.resultShape(2), "2");
  EXPECT_FALSE(imported.all<hr::SizeOp>().empty());
}

TEST(Importer, SlicesOfFreeSizesRestrictThem) {
  ModelBuilder model;
  model.input("x", {"time", "4"})
      .constant("table", floats({16, 4}))
      .constant("from", ints({0}))
      .constant("three", ints({3}))
      .node("Shape", {"x"}, {"s"}, {attribute("end", 1)})
      .node("Slice", {"table", "from", "s"}, {"p"})
      .node("Add", {"x", "p"}, {"y"})
      .node("Slice", {"x", "from", "three"}, {"z"})
      .output("y")
      .output("z");
  Imported imported(model);
  EXPECT_EQ(imported.resultShape(0), "s0x4");
  EXPECT_EQ(imported.resultShape(1), "3x4");
  EXPECT_EQ(imported.main()->getAttrOfType<DenseI64ArrayAttr>(kSymbolMinAttr)[0], 3);
  EXPECT_EQ(imported.main()->getAttrOfType<DenseI64ArrayAttr>(kSymbolMaxAttr)[0], 16);
}

TEST(Importer, SlicesAreOtherOnesBesideTheirGuards) {
  ModelBuilder model;
  model.input("x", {"time", "4"})
      .constant("from", ints({0}))
      .constant("three", ints({3}))
      .node("Slice", {"x", "from", "three"}, {"y"})
      .output("y");
  EXPECT_EQ(Imported(model, {{"time", {0, 2}}}).resultShape(0), "s0x4");
  EXPECT_EQ(Imported(model, {{"time", {2, 2}}}).resultShape(0), "2x4");
  Imported narrowed(model, {{"time", {0, 7}}});
  EXPECT_EQ(narrowed.resultShape(0), "3x4");
  EXPECT_EQ(narrowed.main()->getAttrOfType<DenseI64ArrayAttr>(kSymbolMinAttr)[0], 3);
  EXPECT_EQ(narrowed.main()->getAttrOfType<DenseI64ArrayAttr>(kSymbolMaxAttr)[0], 7);
}

TEST(Importer, BoundsAreOnTheSideOfSizesFromTwoOn) {
  ModelBuilder model;
  model.input("x", {"time", "4"})
      .constant("far", ints({int64_t(1) << 40}))
      .node("Shape", {"x"}, {"s"}, {attribute("end", 1)})
      .node("Neg", {"s"}, {"from"})
      .node("Slice", {"x", "from", "far"}, {"y"})
      .output("y");
  Imported imported(model);
  EXPECT_EQ(imported.resultShape(0), "s0x4");
  EXPECT_EQ(imported.main()->getAttrOfType<DenseI64ArrayAttr>(kSymbolMinAttr)[0], 1);
}

TEST(Importer, RangesOfIntegersAreExactWhereDoublesAreNot) {
  constexpr int64_t far = int64_t(1) << 60;
  ModelBuilder model;
  for (auto [name, value] : {std::pair("a", far), {"b", far - 5}, {"c", int64_t(-2)}})
    model.constant(name, tensorOf<int64_t>(DType::I64, {}, {value}));
  model.node("Range", {"a", "b", "c"}, {"y"}).output("y");
  Imported imported(model);
  auto constants = imported.all<hr::ConstantOp>();
  Tensor range = constantTensor(constants.back().getValue());
  EXPECT_EQ(std::vector<int64_t>(range.as<int64_t>(), range.as<int64_t>() + range.elements()),
            (std::vector<int64_t>{far, far - 2, far - 4}));
}

TEST(Importer, FreeSizesUnderWindowsAreRestrictedThroughStrides) {
  ModelBuilder model;
  model.input("x", {"1", "1", "h", "8"})
      .constant("w", floats({1, 1, 3, 3}))
      .node("Conv", {"x", "w"}, {"c"}, {attribute("strides", std::vector<int64_t>{2, 2})})
      .node("Conv", {"c", "w"}, {"y"})
      .output("y");
  Imported imported(model);
  // Two windows of 3, the first at every other position: 3 results need 7 rows.
  EXPECT_EQ(imported.main()->getAttrOfType<DenseI64ArrayAttr>(kSymbolMinAttr)[0], 7);
}

TEST(Importer, TranspositionIsInTheMaps) {
  ModelBuilder model;
  model.input("x", {"batch", "4"})
      .constant("w", floats({5, 4}))
      .node("Gemm", {"x", "w"}, {"y"}, {attribute("transB", 1)})
      .output("y");
  Imported imported(model);
  EXPECT_TRUE(imported.all<hr::TransposeOp>().empty());
  ASSERT_EQ(imported.all<hr::ContractOp>().size(), 1u);
  EXPECT_EQ(imported.resultShape(), "s0x5");
}

TEST(Importer, SquaresAndRootsAreNotPowers) {
  for (auto [exponent, root] : {std::pair(2.0f, false), std::pair(0.5f, true)}) {
    ModelBuilder model;
    model.input("x", {"3"})
        .constant("e", tensorOf<float>(DType::F32, {}, {exponent}))
        .node("Pow", {"x", "e"}, {"y"})
        .output("y");
    Imported imported(model);
    EXPECT_TRUE(imported.all<math::PowFOp>().empty());
    EXPECT_EQ(imported.all<math::SqrtOp>().size(), root ? 1u : 0u);
  }
}

TEST(Importer, NodesOutOfOrderAreSorted) {
  ModelBuilder model;
  model.input("x", {"3"}).node("Neg", {"r"}, {"y"}).node("Relu", {"x"}, {"r"}).output("y");
  Imported imported(model);
  auto maps = imported.all<hr::MapOp>();
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(operatorName(maps[0]), "n1");
}

TEST(Importer, OlderVersionsMeanOtherThings) {
  auto softmax = [](int64_t opset) {
    ModelBuilder model(opset);
    model.input("x", {"2", "3", "4"}).node("Softmax", {"x"}, {"y"}).output("y");
    Imported imported(model);
    return shapeText(shapeOf(imported.all<hr::SoftmaxOp>().front().getInput()));
  };
  EXPECT_EQ(softmax(11), "2x12");
  EXPECT_EQ(softmax(13), "2x3x4");
}

TEST(Importer, BatchesThatRepeatAreNotCopied) {
  ModelBuilder model;
  model.input("a", {"batch", "1", "3", "4"})
      .input("b", {"5", "4", "2"})
      .node("MatMul", {"a", "b"}, {"y"})
      .output("y");
  Imported imported(model);
  EXPECT_TRUE(imported.all<hr::BroadcastOp>().empty());
  EXPECT_EQ(imported.resultShape(), "s0x5x3x2");
}

} // namespace headrace::onnx::test
