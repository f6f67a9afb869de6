#include "frontend/onnx/write/OnnxWriter.h"

#include "frontend/onnx/read/OnnxReader.h"
#include "runtime/system/Error.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>

namespace headrace::onnx {
namespace {

namespace fs = std::filesystem;

Tensor numbers(DType type, Shape shape) {
  Tensor tensor = Tensor::allocate(DType::F32, std::move(shape));
  std::iota(tensor.as<float>(), tensor.as<float>() + tensor.elements(), 0.0f);
  return tensor.converted(type);
}

std::vector<double> values(const Tensor &tensor) {
  Tensor wide = tensor.converted(DType::F64);
  return {wide.as<double>(), wide.as<double>() + wide.elements()};
}

Attribute attribute(const std::string &name, Attribute::Kind kind) {
  Attribute result;
  result.name = name;
  result.kind = kind;
  return result;
}

/// A node with an attribute of every kind.
Node fullNode() {
  Node node{"n", "Custom", "my.domain", {"x", "", "w"}, {"y", "z"}, {}};
  Attribute f = attribute("f", Attribute::Float), i = attribute("i", Attribute::Int),
            s = attribute("s", Attribute::String), t = attribute("t", Attribute::Tensor),
            g = attribute("g", Attribute::Graph), fs = attribute("fs", Attribute::Floats),
            is = attribute("is", Attribute::Ints), ss = attribute("ss", Attribute::Strings),
            tp = attribute("tp", Attribute::Type), words = attribute("words", Attribute::Tensor);
  f.f = 0.5f;
  i.i = -3;
  s.s = std::string("a\0b", 3);
  t.tensor = numbers(DType::F16, {2, 2});
  g.graph = std::make_shared<Graph>();
  g.graph->name = "inner";
  g.graph->nodes.push_back({"", "Relu", "", {"x"}, {"r"}, {}});
  g.graph->outputs.push_back({"r", {}, {}});
  fs.floats = {1, -2};
  is.ints = {7, -1};
  ss.strings = {"p", "q"};
  ValueInfo element{"", DType::F32, std::vector<Dim>{{2, ""}, {{}, "n"}}, ValueInfo::Tensor};
  ValueInfo sequence{"", {}, {}, ValueInfo::Sequence, false, std::make_shared<ValueInfo>(element)};
  tp.type = std::make_shared<ValueInfo>(sequence);
  words.stringTensor = std::make_shared<StringTensor>(StringTensor{{2}, {"one", "two"}});
  node.attributes = {f, i, s, t, g, fs, is, ss, tp, words};
  return node;
}

Model exampleModel() {
  Model model;
  model.irVersion = 9;
  model.producer = "test";
  model.opsets = {{"", 17}, {"my.domain", 2}};
  model.metadata = {{"key", "value"}};
  model.graph.name = "main";
  model.graph.nodes.push_back(fullNode());
  model.graph.inputs.push_back(
      {"x", DType::I8, std::vector<Dim>{{{}, "batch"}, {3, ""}, {}}, ValueInfo::Tensor});
  model.graph.inputs.push_back({"one", DType::F32, std::vector<Dim>(), ValueInfo::Tensor});
  model.graph.inputs.push_back({"any", DType::F32, std::nullopt, ValueInfo::Tensor});
  model.graph.outputs.push_back({"y", {}, {}});
  model.graph.initializers.push_back({"w", numbers(DType::F32, {3, 1})});
  model.graph.initializers.push_back({"nibbles", numbers(DType::U4, {5})});
  model.graph.initializers.push_back({"bools", numbers(DType::Bool, {3})});
  model.graph.initializers.push_back({"scalar", numbers(DType::I64, {})});
  return model;
}

Model readBytes(const std::string &bytes) {
  return readModel(std::as_bytes(std::span(bytes)), nullptr, {}, "test");
}

TEST(OnnxWriter, WhatItWritesIsReadAgain) {
  Model model = readBytes(encodedModel(exampleModel()));
  EXPECT_EQ(model.irVersion, 9);
  EXPECT_EQ(model.producer, "test");
  EXPECT_EQ(model.opsets, (std::map<std::string, int64_t>{{"", 17}, {"my.domain", 2}}));
  EXPECT_EQ(model.metadata, (std::map<std::string, std::string>{{"key", "value"}}));
  const Node &node = model.graph.nodes.at(0);
  EXPECT_EQ(node.domain, "my.domain");
  EXPECT_EQ(node.inputs, (std::vector<std::string>{"x", "", "w"}));
  EXPECT_EQ(node.outputs, (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(node.getFloat("f", 0), 0.5f);
  EXPECT_EQ(node.getInt("i", 0), -3);
  EXPECT_EQ(node.getString("s", ""), std::string("a\0b", 3));
  EXPECT_EQ(node.find("t")->tensor.dtype(), DType::F16);
  EXPECT_EQ(values(node.find("t")->tensor), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(node.find("g")->graph->nodes.at(0).opType, "Relu");
  EXPECT_EQ(node.getFloats("fs"), (std::vector<float>{1, -2}));
  EXPECT_EQ(node.getInts("is"), (std::vector<int64_t>{7, -1}));
  EXPECT_EQ(node.getStrings("ss"), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(node.find("tp")->type->typeText(), "sequence(f32)");
  EXPECT_EQ(node.find("words")->stringTensor->elements, (std::vector<std::string>{"one", "two"}));
  const std::vector<Dim> &dims = *model.graph.inputs.at(0).shape;
  EXPECT_EQ(dims.at(0).symbol, "batch");
  EXPECT_EQ(dims.at(1).value, 3);
  EXPECT_TRUE(!dims.at(2).value && dims.at(2).symbol.empty());
  EXPECT_TRUE(model.graph.inputs.at(1).shape && model.graph.inputs.at(1).shape->empty());
  EXPECT_FALSE(model.graph.inputs.at(2).shape);
  EXPECT_EQ(values(model.graph.initializers.at(0).tensor), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(model.graph.initializers.at(1).tensor.dtype(), DType::U4);
  EXPECT_EQ(values(model.graph.initializers.at(1).tensor), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(model.graph.initializers.at(2).tensor), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(model.graph.initializers.at(3).tensor.shape(), Shape{});
}

TEST(OnnxWriter, LargeTensorsGoIntoAFileBesideTheModel) {
  fs::path folder = fs::path(testing::TempDir()) / "headrace_writer";
  fs::create_directories(folder);
  Model model = exampleModel();
  model.graph.initializers.push_back({"large", numbers(DType::F32, {1000})});
  model.graph.initializers.push_back({"odd", numbers(DType::U8, {1025})});
  model.graph.initializers.push_back({"also large", numbers(DType::F32, {300})});
  fs::path path = folder / "model.onnx";
  writeModel(model, path, {.maxBytesInside = 100});
  EXPECT_LT(fs::file_size(path), 2000u);
  EXPECT_GE(fs::file_size(folder / "model.onnx.data"), 4000u + 1025u + 1200u);
  {
    Model read = readModel(path);
    for (size_t i = 0; i < model.graph.initializers.size(); ++i)
      EXPECT_EQ(values(read.graph.initializers[i].tensor),
                values(model.graph.initializers[i].tensor));
  }
  writeModel(model, path);
  EXPECT_GT(fs::file_size(path), 6000u);
  fs::remove_all(folder);
}

TEST(OnnxWriter, NodesOfAnotherVersionAreRefused) {
  Model model = exampleModel();
  model.graph.nodes[0].opset = 1;
  try {
    encodedModel(model);
    FAIL();
  } catch (const Error &error) {
    EXPECT_TRUE(std::strstr(error.what(), "node 'n' (Custom): comes from a function with version"))
        << error.what();
  }
}

TEST(OnnxWriter, NothingIsLeftWhereTheFolderIsMissing) {
  fs::path path = fs::path(testing::TempDir()) / "headrace_no_such_folder" / "model.onnx";
  EXPECT_THROW(writeModel(exampleModel(), path), Error);
  EXPECT_FALSE(fs::exists(path.parent_path()));
}

} // namespace
} // namespace headrace::onnx
