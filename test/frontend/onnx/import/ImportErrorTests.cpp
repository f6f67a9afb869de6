// Models that cannot be imported: each is an Error that names the user's thing, whatever the file
// says.
#include "frontend/onnx/import/Operators.h"

#include "ImportHelpers.h"

namespace headrace::onnx::test {

static void expectFailure(const ModelBuilder &model, ErrorKind kind,
                          const std::vector<std::string> &words) {
  Error error = failure(model);
  std::string message = error.what();
  EXPECT_EQ(error.kind(), kind) << message;
  EXPECT_EQ(message.rfind("model.onnx: ", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const std::string &word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "no \"" << word << "\" in: " << message;
}

TEST(ImportErrors, AllUnsupportedOperatorsInOneMessage) {
  ModelBuilder model;
  model.input("x", {"3", "3"})
      .node("Frobnicate", {"x"}, {"a"})
      .node("If", {"a"}, {"b"})
      .node("Frobnicate", {"b"}, {"c"})
      .node("Fancy", {"c"}, {"y"})
      .output("y");
  model.model.graph.nodes.back().domain = "com.example";
  expectFailure(model, ErrorKind::Unsupported,
                {"node 'n0': operator 'Frobnicate' (opset 17) is not supported", "'If'",
                 "'com.example.Fancy'"});
}

TEST(ImportErrors, OperatorsNewerThanTheModel) {
  ModelBuilder model(13);
  model.input("x", {"3"}).node("Mish", {"x"}, {"y"}).output("y");
  expectFailure(model, ErrorKind::Unsupported, {"operator 'Mish' (opset 13) is not supported"});
}

TEST(ImportErrors, VersionsOutOfRange) {
  for (int64_t opset : {0, 99}) {
    ModelBuilder model(opset);
    model.input("x", {"3"}).node("Relu", {"x"}, {"y"}).output("y");
    expectFailure(model, ErrorKind::Unsupported, {"got " + std::to_string(opset)});
  }
  ModelBuilder model;
  model.input("x", {"3"}).node("Relu", {"x"}, {"y"}).output("y");
  model.model.opsets.clear();
  expectFailure(model, ErrorKind::InvalidModel, {"version of the standard operator set"});
}

TEST(ImportErrors, GraphsThatDoNotHangTogether) {
  ModelBuilder undefined;
  undefined.input("x", {"3"}).node("Add", {"x", "nowhere"}, {"y"}).output("y");
  expectFailure(undefined, ErrorKind::InvalidModel, {"n0", "'nowhere'"});

  ModelBuilder cycle;
  cycle.input("x", {"3"}).node("Add", {"x", "b"}, {"a"}).node("Neg", {"a"}, {"b"}).output("b");
  expectFailure(cycle, ErrorKind::InvalidModel, {"n0", "depend on its own outputs"});

  ModelBuilder twice;
  twice.input("x", {"3"}).node("Neg", {"x"}, {"y"}).node("Neg", {"x"}, {"y"}).output("y");
  expectFailure(twice, ErrorKind::InvalidModel, {"n1", "'y'"});

  ModelBuilder noOutput;
  noOutput.input("x", {"3"}).node("Neg", {"x"}, {"y"}).output("z");
  expectFailure(noOutput, ErrorKind::InvalidModel, {"output 'z'"});

  ModelBuilder noResult;
  noResult.input("x", {"3"}).node("Neg", {"x"}, {"y"}).output("y");
  noResult.node("Cast", {"x"}, {}, {attribute("to", 2)});
  expectFailure(noResult, ErrorKind::InvalidModel, {"'n1' (Cast)", "output"});

  ModelBuilder indices;
  indices.input("x", {"1", "1", "4"})
      .node("Neg", {"x"}, {"p", "i"})
      .node("Neg", {"i"}, {"y"})
      .output("y");
  expectFailure(indices, ErrorKind::Unsupported, {"n1", "'i'"});
}

TEST(ImportErrors, WrongShapesAndTypes) {
  ModelBuilder shapes;
  shapes.input("x", {"batch", "3"}).input("w", {"4"}).node("Add", {"x", "w"}, {"y"}).output("y");
  expectFailure(shapes, ErrorKind::ShapeMismatch, {"'n0' (Add)", "batch x 3", "4"});

  ModelBuilder types;
  types.input("x", {"3"}).input("w", {"3"}, DType::I64);
  types.node("Add", {"x", "w"}, {"y"}).output("y");
  expectFailure(types, ErrorKind::TypeMismatch, {"'n0' (Add)", "input 1 ('w')", "f32", "i64"});

  ModelBuilder missing;
  missing.input("x", {"3"}).node("Add", {"x"}, {"y"}).output("y");
  expectFailure(missing, ErrorKind::MissingInput, {"'n0' (Add)", "input 1"});

  ModelBuilder kind;
  kind.input("x", {"3"}).node("Softmax", {"x"}, {"y"}, {attribute("axis", "last")}).output("y");
  expectFailure(kind, ErrorKind::InvalidModel, {"'n0' (Softmax)", "'axis'"});

  ModelBuilder rule;
  rule.input("x", {"1", "4", "8", "8"}).constant("w", floats({2, 3, 3, 3}));
  rule.node("Conv", {"x", "w"}, {"y"}).output("y");
  expectFailure(rule, ErrorKind::ShapeMismatch, {"'n0' (Conv)", "channels"});

  ModelBuilder output;
  output.input("x", {"3"}).node("Neg", {"x"}, {"y"}).output("y");
  output.model.graph.outputs[0].dtype = DType::I64;
  expectFailure(output, ErrorKind::TypeMismatch, {"output 'y'", "i64", "f32"});
}

TEST(ImportErrors, ShapesThatDependOnData) {
  ModelBuilder model;
  model.input("x", {"6"}).input("s", {"2"}, DType::I64);
  model.node("Reshape", {"x", "s"}, {"y"}).output("y");
  expectFailure(model, ErrorKind::Unsupported, {"'n0' (Reshape)", "input 1 ('s')"});
}

TEST(ImportErrors, InputsThatCannotBeRead) {
  ModelBuilder noShape;
  noShape.model.graph.inputs.push_back({"x", DType::F32, std::nullopt});
  noShape.node("Neg", {"x"}, {"y"}).output("y");
  expectFailure(noShape, ErrorKind::Unsupported, {"input 'x'", "rank"});

  ModelBuilder type;
  type.input("x", {"3"}, DType::F8E5M2).node("Neg", {"x"}, {"y"}).output("y");
  expectFailure(type, ErrorKind::TypeMismatch, {"'x'", "expected numbers", "f8E5M2"});
}

//===--------------------------------------------------------------------------===//
// Hostile sizes
//===--------------------------------------------------------------------------===//

static const int64_t kHuge = int64_t(1) << 62;

TEST(ImportErrors, InputsOfImpossibleSizes) {
  for (std::vector<std::string> dims : {std::vector<std::string>{"-4"},
                                        {"4611686018427387904", "4611686018427387904"},
                                        {"9223372036854775807"}}) {
    ModelBuilder model;
    model.input("x", dims).node("Neg", {"x"}, {"y"}).output("y");
    failure(model);
  }
}

TEST(ImportErrors, SizesWithoutBound) {
  auto with = [](const char *op, std::vector<int64_t> sizes) {
    ModelBuilder model;
    model.input("x", {"1", "batch"}).constant("s", ints(sizes));
    model.node(op, {"x", "s"}, {"y"}).output("y");
    return model;
  };
  failure(with("Expand", {kHuge, kHuge, 1, 1}));
  failure(with("Expand", {-3, 1}));
  failure(with("Tile", {kHuge, kHuge}));
  failure(with("Tile", {-1, 1}));
  failure(with("Reshape", {kHuge, kHuge, -1}));
  failure(with("Reshape", {-2}));
  failure(with("Pad", {kHuge, kHuge, kHuge, kHuge}));
  failure(with("Unsqueeze", {kHuge}));

  ModelBuilder known;
  known.constant("one", ints({1})).constant("s", ints({kHuge, kHuge, kHuge}));
  known.node("Expand", {"one", "s"}, {"y"}).output("y");
  expectFailure(known, ErrorKind::Unsupported, {"n0"});

  ModelBuilder fill;
  fill.constant("s", ints({kHuge, 8})).node("ConstantOfShape", {"s"}, {"y"}).output("y");
  failure(fill);

  ModelBuilder range;
  range.constant("a", tensorOf<float>(DType::F32, {}, {0.0f}))
      .constant("b", tensorOf<float>(DType::F32, {}, {1e30f}))
      .constant("c", tensorOf<float>(DType::F32, {}, {0.0f}))
      .node("Range", {"a", "b", "c"}, {"y"})
      .output("y");
  failure(range);
}

TEST(ImportErrors, SizesThatGrowWithEveryNode) {
  // Each node doubles the exponent of a dynamic dimension: as a tree the 40th has 2^40 parts.
  ModelBuilder model;
  model.input("x", {"n"}).node("Shape", {"x"}, {"v0"});
  for (int i = 0; i < 40; ++i)
    model.node("Mul", {"v" + std::to_string(i), "v" + std::to_string(i)},
               {"v" + std::to_string(i + 1)});
  model.node("Expand", {"x", "v40"}, {"y"}).output("y");
  failure(model);

  ModelBuilder tiles;
  tiles.input("v0", {"n"});
  for (int i = 0; i < 40; ++i) {
    std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
    tiles.node("Shape", {from}, {"s" + to}).node("Tile", {from, "s" + to}, {to});
  }
  tiles.output("v40");
  failure(tiles);

  ModelBuilder ranks;
  ranks.input("v0", {"2", "2", "2"}, DType::I64);
  for (int i = 0; i < 10; ++i)
    ranks.node("Gather", {"v" + std::to_string(i), "v" + std::to_string(i)},
               {"v" + std::to_string(i + 1)});
  ranks.output("v10");
  failure(ranks);
}

TEST(ImportErrors, WindowsWithoutBound) {
  for (auto [name, values] : {std::pair("strides", std::vector<int64_t>{0, 1}),
                              std::pair("strides", std::vector{kHuge, kHuge}),
                              std::pair("pads", std::vector{kHuge, kHuge, kHuge, kHuge}),
                              std::pair("pads", std::vector<int64_t>{-5, 0, 0, 0}),
                              std::pair("dilations", std::vector{kHuge, kHuge}),
                              std::pair("dilations", std::vector<int64_t>{1}),
                              std::pair("kernel_shape", std::vector{kHuge, kHuge})}) {
    ModelBuilder conv;
    conv.input("x", {"1", "2", "8", "8"}).constant("w", floats({2, 2, 3, 3}));
    conv.node("Conv", {"x", "w"}, {"y"}, {attribute(name, values)}).output("y");
    failure(conv);
  }
}

/// Every operator on inputs it was not made for either imports them or says why not.
TEST(ImportErrors, EveryOperatorOnAnyInputs) {
  const std::vector<std::vector<std::string>> inputSets = {
      {},
      {""},
      {"scalar"},
      {"vector", "matrix"},
      {"image", "matrix", "vector"},
      {"image", "image", "image", "image", "image"},
      {"free", "free"},
      {"free", "list"},
      {"free", "list", "list", "list", "list"},
      {"none", "none", "none"},
      {"list", "list", "list"},
      {"flags", "flags", "flags"},
      {"flags", "free", "list"},
      {"matrix", "", "scalar"},
      {"far", "far", "far", "list", "far"},
      {"image", "far", "far"},
      {"least", "least", "least"},
      {"list", "least", "least", "", "least"},
      {"vector", "least", "least", "", "least"},
      {"empty", "empty", "empty"},
      {"empty", "least", "least", "", "back"},
      {"none", "least", "least", "", "back"},
  };
  int imported = 0;
  for (OperatorFamily family :
       {arithmeticOperators(), activationOperators(), logicOperators(), linearOperators(),
        windowOperators(), normalizationOperators(), reductionOperators(), layoutOperators(),
        indexingOperators(), valueOperators()})
    for (const Operator &op : family)
      for (int64_t opset : {op.since, kNewestOpset})
        for (const auto &inputs : inputSets) {
          ModelBuilder model(opset);
          model.input("scalar", {})
              .input("vector", {"4"})
              .input("matrix", {"4", "3"})
              .input("image", {"2", "4", "5", "3"})
              .input("free", {"n", "m", "4"})
              .input("none", {"0", "4"})
              .input("flags", {"4"}, DType::Bool)
              .constant("list", ints({1, 0, 2}))
              .constant("far", ints({INT64_MAX, INT64_MIN, -1}))
              .constant("least", ints({INT64_MIN}))
              .constant("back", ints({-1}))
              .constant("empty", ints({}))
              .node(op.opType, inputs, {"y", "z"},
                    {attribute("axis", 1), attribute("to", 1), attribute("blocksize", 2),
                     attribute("kernel_shape", std::vector<int64_t>{2, 2}),
                     attribute("equation", "ij,jk->ik"), attribute("num_groups", 2)})
              .output("y");
          try {
            Imported result(model);
            ++imported;
          } catch (const Error &error) {
            EXPECT_EQ(std::string(error.what()).rfind("model.onnx: ", 0), 0u) << error.what();
          }
        }
  EXPECT_GT(imported, 200);
}

} // namespace headrace::onnx::test
