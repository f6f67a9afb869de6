#include "ModelBuilder.h"
#include <fstream>

namespace headrace::onnx::test {
namespace {

// Serialized by the onnx package: y = Softmax(Gemm(x, w; alpha 0.5, transB 1); axis -1), x of
// shape batch x 2, w = [[0, 1], [2, 3], [4, 5]].
constexpr char tinyModel[] =
    "\x08\x08\x12\x04\x74\x65\x73\x74\x3a\xbb\x01\x0a\x33\x0a\x01\x78\x0a\x01\x77\x12\x01\x68"
    "\x1a\x02\x66\x63\x22\x04\x47\x65\x6d\x6d\x2a\x0f\x0a\x05\x61\x6c\x70\x68\x61\x15\x00\x00"
    "\x00\x3f\xa0\x01\x01\x2a\x0d\x0a\x06\x74\x72\x61\x6e\x73\x42\x18\x01\xa0\x01\x02\x0a\x25"
    "\x0a\x01\x68\x12\x01\x79\x22\x07\x53\x6f\x66\x74\x6d\x61\x78\x2a\x14\x0a\x04\x61\x78\x69"
    "\x73\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x02\x12\x04\x74\x69\x6e\x79\x2a"
    "\x23\x08\x03\x08\x02\x10\x01\x42\x01\x77\x4a\x18\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00"
    "\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40\x00\x00\xa0\x40\x5a\x18\x0a\x01\x78\x12\x13\x0a"
    "\x11\x08\x01\x12\x0d\x0a\x07\x12\x05\x62\x61\x74\x63\x68\x0a\x02\x08\x02\x62\x18\x0a\x01"
    "\x79\x12\x13\x0a\x11\x08\x01\x12\x0d\x0a\x07\x12\x05\x62\x61\x74\x63\x68\x0a\x02\x08\x03"
    "\x42\x04\x0a\x00\x10\x11";

TEST(OnnxReader, ReadsWhatTheOnnxPackageWrites) {
  Model model = read(std::string(tinyModel, sizeof(tinyModel) - 1));
  EXPECT_EQ(model.irVersion, 8);
  EXPECT_EQ(model.producer, "test");
  EXPECT_EQ(model.opsets, (std::map<std::string, int64_t>{{"", 17}}));

  const Graph &graph = model.graph;
  EXPECT_EQ(graph.name, "tiny");
  ASSERT_EQ(graph.nodes.size(), 2u);
  const Node &gemm = graph.nodes[0];
  EXPECT_EQ(gemm.name, "fc");
  EXPECT_EQ(gemm.opType, "Gemm");
  EXPECT_EQ(gemm.inputs, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(gemm.outputs, (std::vector<std::string>{"h"}));
  EXPECT_EQ(gemm.getFloat("alpha", 1), 0.5f);
  EXPECT_EQ(gemm.getFloat("beta", 1), 1.0f);
  EXPECT_EQ(gemm.getInt("transB", 0), 1);
  EXPECT_EQ(graph.nodes[1].getInt("axis", 1), -1);
  EXPECT_EQ(graph.nodes[1].describe(), "Softmax node of output 'y'");

  ASSERT_EQ(graph.initializers.size(), 1u);
  EXPECT_EQ(graph.initializers[0].name, "w");
  EXPECT_EQ(graph.initializers[0].tensor.dtype(), DType::F32);
  EXPECT_EQ(graph.initializers[0].tensor.shape(), (Shape{3, 2}));
  EXPECT_EQ(values<float>(graph.initializers[0].tensor), (std::vector<float>{0, 1, 2, 3, 4, 5}));

  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.inputs[0].dtype, DType::F32);
  ASSERT_TRUE(graph.inputs[0].shape && graph.inputs[0].shape->size() == 2);
  EXPECT_EQ((*graph.inputs[0].shape)[0].symbol, "batch");
  EXPECT_EQ((*graph.inputs[0].shape)[0].value, std::nullopt);
  EXPECT_EQ((*graph.inputs[0].shape)[1].value, 2);
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.outputs[0].name, "y");
}

TEST(OnnxReader, ReadsAFileAndKeepsItMapped) {
  auto path = std::filesystem::path(testing::TempDir()) / "headrace_tiny.onnx";
  std::ofstream(path, std::ios::binary).write(tinyModel, sizeof(tinyModel) - 1);
  Tensor weight = readModel(path).graph.initializers.at(0).tensor;
  std::filesystem::remove(path);
  EXPECT_EQ(values<float>(weight), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(OnnxReader, DistinguishesUnknownSizesAndTypes) {
  GraphParts parts;
  parts.inputs = {value("x", Float, {-1, 0, -2}), value("scalar"), value("text", StringType),
                  message([](auto &w) { w.add_string(1, "untyped"); })};
  std::vector<ValueInfo> inputs = read(model(graph(parts))).graph.inputs;
  ASSERT_EQ(inputs.size(), 4u);
  ASSERT_EQ(inputs[0].shape->size(), 3u);
  EXPECT_FALSE((*inputs[0].shape)[0].value);
  EXPECT_EQ((*inputs[0].shape)[0].symbol, "");
  EXPECT_EQ((*inputs[0].shape)[1].value, 0);
  EXPECT_FALSE((*inputs[0].shape)[2].value);
  EXPECT_TRUE(inputs[1].shape && inputs[1].shape->empty());
  EXPECT_EQ(inputs[2].dtype, std::nullopt);
  EXPECT_EQ(inputs[3].dtype, std::nullopt);
  EXPECT_EQ(inputs[3].shape, std::nullopt);
}

TEST(OnnxReader, ReadsTypesThatAreNoTensors) {
  auto nested = [](uint32_t kind, const std::string &element) {
    return message([&](auto &w) {
      w.add_message(kind, message([&](auto &e) { e.add_message(1, element); }));
    });
  };
  std::string type = message(
      [](auto &w) { w.add_message(1, message([](auto &t) { t.add_int32(1, StringType); })); });
  auto typed = [](const std::string &name, const std::string &encoded) {
    return message([&](auto &w) {
      w.add_string(1, name);
      w.add_message(2, encoded);
    });
  };
  GraphParts parts;
  parts.inputs = {typed("a", nested(4, type)), typed("b", nested(9, nested(4, type)))};
  std::vector<ValueInfo> inputs = read(model(graph(parts))).graph.inputs;
  EXPECT_EQ(inputs.at(0).typeText(), "sequence(string)");
  EXPECT_EQ(inputs.at(1).typeText(), "optional(sequence(string))");
  for (int i = 0; i < 20; ++i)
    type = nested(4, type);
  parts.inputs = {typed("deep", type)};
  EXPECT_THROW(read(model(graph(parts))), Error);
}

TEST(OnnxReader, ReadsEveryKindOfAttribute) {
  std::string body = graph({.nodes = {node("inner", "Neg", {"a"}, {"b"})}, .inputs = {}});
  GraphParts parts;
  parts.nodes = {node(
      "n", "Op", {"x", "", "z"}, {"y"},
      {
          attribute("f", 1, [](auto &w) { w.add_float(2, 0.25f); }),
          attribute("i", 2, [](auto &w) { w.add_int64(3, -7); }),
          attribute("s", 3, [](auto &w) { w.add_string(4, "same"); }),
          attribute("t", 4,
                    [](auto &w) { w.add_message(5, rawTensor<int64_t>("", Int64, {2}, {5, 6})); }),
          attribute("g", 5, [&](auto &w) { w.add_message(6, body); }),
          attribute("floats", 6,
                    [](auto &w) {
                      w.add_float(7, 1);
                      std::vector<float> more = {2, 3};
                      w.add_packed_float(7, more.begin(), more.end());
                    }),
          attribute("ints", 7,
                    [](auto &w) {
                      w.add_int64(8, 1);
                      std::vector<int64_t> more = {-2, 3};
                      w.add_packed_int64(8, more.begin(), more.end());
                    }),
          attribute("strings", 8,
                    [](auto &w) {
                      w.add_string(9, "a");
                      w.add_string(9, "");
                    }),
          attribute("empty", 7, [](auto &) {}),
          attribute("untyped", 0, [](auto &w) { w.add_int64(3, 4); }),
      },
      "ai.onnx")};
  Node op = read(model(graph(parts))).graph.nodes.at(0);
  EXPECT_EQ(op.domain, "");
  EXPECT_EQ(op.inputs, (std::vector<std::string>{"x", "", "z"}));
  EXPECT_EQ(op.getFloat("f", 0), 0.25f);
  EXPECT_EQ(op.getInt("i", 0), -7);
  EXPECT_EQ(op.getString("s", ""), "same");
  ASSERT_TRUE(op.find("t"));
  EXPECT_EQ(op.find("t")->kind, Attribute::Tensor);
  EXPECT_EQ(values<int64_t>(op.find("t")->tensor), (std::vector<int64_t>{5, 6}));
  ASSERT_TRUE(op.find("g") && op.find("g")->graph);
  EXPECT_EQ(op.find("g")->graph->nodes.at(0).name, "inner");
  EXPECT_EQ(op.find("floats")->floats, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(op.getInts("ints"), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(op.find("strings")->strings, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(op.getInts("empty", {1}), (std::vector<int64_t>{}));
  EXPECT_EQ(op.getInts("absent", {1}), (std::vector<int64_t>{1}));
  EXPECT_EQ(op.getInt("untyped", 0), 4);
  EXPECT_EQ(op.find("absent"), nullptr);
}

TEST(OnnxReader, AttributeOfAnotherKindIsAnErrorThatNamesIt) {
  GraphParts parts;
  parts.nodes = {node("n", "Concat", {"x"}, {"y"},
                      {attribute("axis", 1, [](auto &w) { w.add_float(2, 1); })})};
  Node concat = read(model(graph(parts))).graph.nodes.at(0);
  try {
    concat.getInt("axis", 0);
    FAIL() << "expected an error";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::InvalidModel);
    EXPECT_STREQ(error.what(), "node 'n' (Concat): attribute 'axis': expected a value of type int, "
                               "got float");
  }
}

TEST(OnnxReader, SkipsFieldsOfALaterFormat) {
  std::string bytes = model(graph());
  protozero::pbf_writer writer(bytes);
  writer.add_string(90, "future");
  writer.add_fixed64(91, 1);
  EXPECT_EQ(read(bytes).graph.nodes.size(), 1u);
}

TEST(OnnxReader, OldModelsHaveOperatorSetOne) {
  std::string old = message([](auto &w) {
    w.add_int64(1, 2);
    w.add_message(7, graph());
  });
  EXPECT_EQ(read(old).opsets, (std::map<std::string, int64_t>{{"", 1}}));
}

} // namespace
} // namespace headrace::onnx::test
