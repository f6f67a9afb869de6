#include "ModelBuilder.h"
#include <fstream>
#include <random>

namespace headrace::onnx::test {
namespace {

namespace fs = std::filesystem;

/// A small model with most of the format in it.
std::string richModel() {
  std::string body =
      graph({.nodes = {node("inner", "Neg", {"x"}, {"b"})}, .inputs = {}, .outputs = {value("b")}});
  std::vector<int64_t> ints = {1, -2, 300};
  std::vector<float> floats = {1, 2};
  GraphParts parts;
  parts.nodes = {
      node("if", "If", {"c"}, {"t"},
           {attribute("then_branch", 5, [&](auto &w) { w.add_message(6, body); }),
            attribute("ints", 7, [&](auto &w) { w.add_packed_int64(8, ints.begin(), ints.end()); }),
            attribute("floats", 6,
                      [&](auto &w) { w.add_packed_float(7, floats.begin(), floats.end()); }),
            attribute("mode", 3, [](auto &w) { w.add_string(4, "same"); })}),
      node("", "Constant", {}, {"k"},
           {attribute("value", 4,
                      [&](auto &w) {
                        w.add_message(5, tensor("k", Int64, {3}, [&](auto &t) {
                                        t.add_packed_int64(7, ints.begin(), ints.end());
                                      }));
                      })}),
      node("add", "Add", {"t", "k"}, {"y"})};
  parts.initializers = {rawTensor<float>("w", Float, {2}, {1, 2}),
                        tensor("v", Float, {2}, [&](auto &w) {
                          w.add_packed_float(4, floats.begin(), floats.end());
                        })};
  parts.inputs = {value("x", Float, {-1, 2}), value("c", Bool)};
  return model(graph(parts));
}

/// Whether the bytes parse; anything but a model or an Error fails the test or crashes it.
bool parses(const std::string &bytes) {
  try {
    read(bytes);
    return true;
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return false;
  }
}

TEST(BadFiles, TruncatedAtEveryByte) {
  std::string whole = richModel();
  ASSERT_TRUE(parses(whole));
  size_t truncatedMessages = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    Error error = readError(whole.substr(0, size));
    // Without its operator sets, the model is well-formed but incomplete.
    EXPECT_TRUE(error.kind() == ErrorKind::InvalidFile || error.kind() == ErrorKind::InvalidModel)
        << "at " << size << ": " << error.what();
    truncatedMessages += std::string(error.what()).find("truncated") != std::string::npos;
  }
  // All but the first bytes, where it could still be anything.
  EXPECT_GE(truncatedMessages, whole.size() - 3);
}

TEST(BadFiles, AnyByteChanged) {
  std::string whole = richModel();
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int change : {0x01, 0x02, 0x07, 0x08, 0x40, 0x7f, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      refused += !parses(damaged);
    }
  EXPECT_GT(refused, 0);
}

TEST(BadFiles, BytesRemovedOrDoubled) {
  std::string whole = richModel();
  for (size_t at = 0; at < whole.size(); ++at) {
    parses(whole.substr(0, at) + whole.substr(at + 1));
    parses(whole.substr(0, at + 1) + whole.substr(at));
  }
}

TEST(BadFiles, RandomBytesAreNotOnnx) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(1 + random() % 300, '\0');
    for (char &byte : bytes)
      byte = static_cast<char>(random());
    if (bytes[0] == 0x08) // begins as a model does
      continue;
    expectError(bytes, ErrorKind::InvalidFile,
                "expected an ONNX model, got data in another format");
  }
}

TEST(BadFiles, OtherFormatsAreNotOnnx) {
  std::string other = "expected an ONNX model, got data in another format";
  std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0", 30);
  for (const std::string &bytes :
       {png, std::string("{\"ir_version\": 8}"), std::string("ir_version: 8\ngraph { }\n"),
        std::string("<!DOCTYPE html><html></html>"),
        std::string("Hello, world. This is a text file.\n"),
        std::string("\x7f"
                    "ELF\x02\x01\x01"),
        std::string("\0\0\0\0\0\0\0\0", 8), rawTensor<float>("w", Float, {2}, {1, 2})})
    expectError(bytes, ErrorKind::InvalidFile, other);
  expectError("", ErrorKind::InvalidFile, "got an empty file");
  expectError(std::string("PK\x03\x04\x14\0\0\0\x08\0", 10), ErrorKind::InvalidFile,
              "got a zip archive");
  expectError("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
              ErrorKind::InvalidFile, "git lfs pull");
}

TEST(BadFiles, FilesThatCannotBeRead) {
  auto expectFileError = [](const fs::path &path, ErrorKind kind, const std::string &text) {
    try {
      readModel(path);
      FAIL() << "expected an error";
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_TRUE(std::string(error.what()).starts_with(path.string() + ": ")) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  fs::path folder = testing::TempDir();
  expectFileError(folder / "headrace_absent.onnx", ErrorKind::Io, "No such file");
  expectFileError(folder, ErrorKind::Io, "got a directory");
  expectFileError("/dev/null", ErrorKind::Io, "got a special file");
  fs::path empty = folder / "headrace_empty.onnx";
  std::ofstream{empty};
  expectFileError(empty, ErrorKind::InvalidFile, "got an empty file");
  fs::remove(empty);
}

TEST(BadModels, NoGraphOrOutputs) {
  auto invalid = ErrorKind::InvalidModel;
  expectError(message([](auto &w) { w.add_int64(1, 8); }), ErrorKind::InvalidFile, "no graph");
  expectError(model(graph()) + model(graph()), ErrorKind::InvalidFile, "expected one graph");
  expectError(model(graph({.outputs = {}})), invalid, "a graph with outputs");
  expectError(model(graph({.nodes = {node("n", "", {"x"}, {"y"})}})), invalid,
              "node 'n': expected an operator type");
}

TEST(BadModels, DuplicateNames) {
  auto invalid = ErrorKind::InvalidModel;
  std::string again = "value 'y' is already defined";
  expectError(
      model(graph({.nodes = {node("a", "Neg", {"x"}, {"y"}), node("b", "Neg", {"x"}, {"y"})}})),
      invalid, "node 'b' (Neg): " + again);
  expectError(model(graph({.nodes = {node("a", "Split", {"x"}, {"y", "y"})}})), invalid, again);
  expectError(model(graph({.inputs = {value("y")}})), invalid, again);
  expectError(modelWithInitializer(rawTensor<float>("y", Float, {1}, {1})), invalid, again);
  expectError(model(graph({.inputs = {value("x"), value("x")}})), invalid, "'x'");
  std::string weight = rawTensor<float>("w", Float, {1}, {1});
  expectError(model(graph({.initializers = {weight, weight}})), invalid, "'w'");
  // An input's default value is an initializer of its name; omitted outputs have no name.
  EXPECT_TRUE(parses(modelWithInitializer(rawTensor<float>("x", Float, {2}, {1, 2}))));
  EXPECT_TRUE(parses(model(graph({.nodes = {node("a", "Split", {"x"}, {"", "", "y"})}}))));
}

TEST(BadModels, OperatorSets) {
  auto with = [](std::vector<std::string> opsets) {
    return message([&](auto &w) {
      w.add_int64(1, 8);
      w.add_message(7, graph());
      for (const std::string &encoded : opsets)
        w.add_message(8, encoded);
    });
  };
  expectError(with({}), ErrorKind::InvalidModel, "no operator set");
  expectError(with({opset("", 0)}), ErrorKind::InvalidModel, "version");
  expectError(with({opset("", 13), opset("ai.onnx", 14)}), ErrorKind::InvalidModel, "13 and 14");
  EXPECT_TRUE(parses(with({opset("ai.onnx", 13), opset("", 13), opset("ai.onnx.ml", 3)})));
}

TEST(BadModels, AttributesAreNamed) {
  auto with = [](const std::vector<std::string> &attributes) {
    return model(graph({.nodes = {node("n", "Op", {"x"}, {"y"}, attributes)}}));
  };
  std::string where = "node 'n' (Op): attribute 'a': ";
  auto nothing = [](auto &) {};
  expectError(with({attribute("a", 4, nothing)}), ErrorKind::InvalidModel,
              where + "expected a tensor");
  expectError(with({attribute("a", 5, nothing)}), ErrorKind::InvalidModel,
              where + "expected a graph");
  expectError(with({attribute("a", 0, nothing)}), ErrorKind::InvalidModel,
              where + "expected a value");
  expectError(with({attribute("a", 11, nothing)}), ErrorKind::Unsupported,
              where + "values of type");
  expectError(with({attribute("a", 2, [](auto &w) { w.add_string(21, "outer"); })}),
              ErrorKind::InvalidModel, where + "refers to a function's attribute");
  std::string same = attribute("a", 2, nothing);
  expectError(with({same, same}), ErrorKind::InvalidModel, "attribute 'a' is given twice");
  expectError(with({attribute("a", 6, [](auto &w) { w.add_bytes(7, "abc"); })}),
              ErrorKind::InvalidFile, "node 'n' (Op): the file is damaged");
}

TEST(BadModels, NestingIsBounded) {
  auto nested = [](int depth) {
    std::string inner = graph();
    for (int i = 0; i < depth; ++i) {
      std::string body = attribute("g", 5, [&](auto &w) { w.add_message(6, inner); });
      GraphParts parts;
      parts.nodes = {node("if", "If", {"x"}, {"y"}, {body})};
      inner = graph(parts);
    }
    return model(inner);
  };
  EXPECT_TRUE(parses(nested(64)));
  expectError(nested(65), ErrorKind::InvalidModel, "at most 64 deep");
  expectError(nested(200), ErrorKind::InvalidModel, "at most 64 deep");
}

TEST(BadModels, ShapesAreBounded) {
  expectError(model(graph({.inputs = {value("x", Float, std::vector<int64_t>(33, 1))}})),
              ErrorKind::InvalidModel, "value 'x': expected at most 32 dimensions");
}

/// A model that calls `f` of domain `mine`, whose body is these nodes.
static std::string calling(const std::vector<std::string> &body) {
  GraphParts parts;
  parts.nodes = {node("n", "f", {"x"}, {"y"}, {}, "mine")};
  std::string bytes = model(graph(parts));
  protozero::pbf_writer writer(bytes);
  writer.add_message(25, message([&](auto &w) {
                       w.add_string(1, "f");
                       w.add_string(4, "a");
                       w.add_string(5, "b");
                       for (const std::string &each : body)
                         w.add_message(7, each);
                       w.add_string(10, "mine");
                     }));
  return bytes;
}

TEST(Functions, AreWrittenOutUnderTheNamesOfTheirCalls) {
  std::string bytes =
      calling({node("relu", "Relu", {"a"}, {"t"}), node("neg", "Neg", {"t"}, {"b"})});
  Model inlined = read(bytes);
  ASSERT_EQ(inlined.graph.nodes.size(), 2U);
  EXPECT_EQ(inlined.graph.nodes[0].name, "n/relu");
  EXPECT_EQ(inlined.graph.nodes[0].inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(inlined.graph.nodes[0].outputs, inlined.graph.nodes[1].inputs);
  EXPECT_NE(inlined.graph.nodes[0].outputs[0], "t");
  EXPECT_EQ(inlined.graph.nodes[1].outputs, std::vector<std::string>{"y"});
}

TEST(Functions, CallsWithoutEndAreRefused) {
  std::string again = node("r", "f", {"a"}, {"b"}, {}, "mine");
  expectError(calling({again}), ErrorKind::InvalidModel, "at most 64 deep");
  expectError(calling({again, node("s", "f", {"a"}, {"c"}, {}, "mine")}), ErrorKind::InvalidModel,
              "deep");
}

TEST(Functions, MoreInputsThanDeclaredAreRefused) {
  GraphParts parts;
  parts.nodes = {node("n", "f", {"x", "x"}, {"y"}, {}, "mine")};
  std::string wrong = model(graph(parts));
  protozero::pbf_writer writer(wrong);
  writer.add_message(25, message([&](auto &w) {
                       w.add_string(1, "f");
                       w.add_string(4, "a");
                       w.add_string(5, "b");
                       w.add_string(10, "mine");
                     }));
  expectError(wrong, ErrorKind::InvalidModel, "node 'n' (f): expected at most 1 inputs");
}

TEST(BadModels, SparseInitializersAreRefused) {
  std::string sparse = graph();
  protozero::pbf_writer sparseWriter(sparse);
  sparseWriter.add_message(
      15, message([](auto &w) { w.add_message(1, rawTensor<float>("w", Float, {1}, {1})); }));
  expectError(model(sparse), ErrorKind::Unsupported, "initializer 'w': sparse");
}

TEST(BadModels, NamesCannotBreakTheMessage) {
  std::string evil = "a\nb\x1b[31m";
  expectError(model(graph({.nodes = {node(evil, "", {"x"}, {"y"})}})), ErrorKind::InvalidModel,
              "'a\\x0ab\\x1b[31m'");
  expectError(model(graph({.nodes = {node("\xff\xfe", "Neg", {"x"}, {"y"})}})),
              ErrorKind::InvalidFile, "'\\xff\\xfe' is not UTF-8");
  std::string longName(10000, 'n');
  EXPECT_LT(
      std::string(readError(model(graph({.nodes = {node(longName, "", {}, {})}}))).what()).size(),
      400u);
}

} // namespace
} // namespace headrace::onnx::test
