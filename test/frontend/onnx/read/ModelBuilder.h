// Builds the bytes of ONNX messages. Field numbers are written out as onnx.proto has them, so that
// they are checked against the reader's.
#pragma once

#include "frontend/onnx/read/OnnxReader.h"
#include "runtime/system/Error.h"

#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace headrace::onnx::test {

template <class Fill> std::string message(Fill fill) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  fill(writer);
  return bytes;
}

enum TypeCode { Float = 1, Uint8, Int8, Uint16, Int16, Int32, Int64, StringType, Bool, Float16 };
enum WideTypeCode { Double = 11, Uint32, Uint64, Complex64, BFloat16 = 16 };

/// A TensorProto; `fill` adds its data.
template <class Fill>
std::string tensor(const std::string &name, int type, const std::vector<int64_t> &dims, Fill fill) {
  return message([&](auto &w) {
    for (int64_t dim : dims)
      w.add_int64(1, dim);
    w.add_int32(2, type);
    w.add_string(8, name);
    fill(w);
  });
}

template <class T>
std::string rawTensor(const std::string &name, int type, const std::vector<int64_t> &dims,
                      const std::vector<T> &values) {
  return tensor(name, type, dims, [&](auto &w) {
    w.add_bytes(9, reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
  });
}

/// An AttributeProto; `fill` adds its value.
template <class Fill> std::string attribute(const std::string &name, int type, Fill fill) {
  return message([&](auto &w) {
    w.add_string(1, name);
    fill(w);
    w.add_enum(20, type);
  });
}

inline std::string node(const std::string &name, const std::string &opType,
                        const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs,
                        const std::vector<std::string> &attributes = {},
                        const std::string &domain = "") {
  return message([&](auto &w) {
    for (const std::string &input : inputs)
      w.add_string(1, input);
    for (const std::string &output : outputs)
      w.add_string(2, output);
    w.add_string(3, name);
    w.add_string(4, opType);
    for (const std::string &encoded : attributes)
      w.add_message(5, encoded);
    if (!domain.empty())
      w.add_string(7, domain);
  });
}

/// A ValueInfoProto of a tensor; a size of -1 is left out, others below 0 are
/// written.
inline std::string value(const std::string &name, int type = Float,
                         const std::vector<int64_t> &dims = {}) {
  std::string shape = message([&](auto &w) {
    for (int64_t dim : dims)
      w.add_message(1, message([&](auto &d) {
                      if (dim != -1)
                        d.add_int64(1, dim);
                    }));
  });
  std::string tensorType = message([&](auto &w) {
    w.add_int32(1, type);
    w.add_message(2, shape);
  });
  return message([&](auto &w) {
    w.add_string(1, name);
    w.add_message(2, message([&](auto &t) { t.add_message(1, tensorType); }));
  });
}

struct GraphParts {
  std::vector<std::string> nodes = {node("relu", "Relu", {"x"}, {"y"})};
  std::vector<std::string> initializers = {};
  std::vector<std::string> inputs = {value("x", Float, {2})};
  std::vector<std::string> outputs = {value("y", Float, {2})};
};

inline std::string graph(const GraphParts &parts = {}) {
  return message([&](auto &w) {
    for (const std::string &encoded : parts.nodes)
      w.add_message(1, encoded);
    w.add_string(2, "main");
    for (const std::string &encoded : parts.initializers)
      w.add_message(5, encoded);
    for (const std::string &encoded : parts.inputs)
      w.add_message(11, encoded);
    for (const std::string &encoded : parts.outputs)
      w.add_message(12, encoded);
  });
}

inline std::string opset(const std::string &domain, int64_t version) {
  return message([&](auto &w) {
    w.add_string(1, domain);
    w.add_int64(2, version);
  });
}

inline std::string model(const std::string &encodedGraph) {
  return message([&](auto &w) {
    w.add_int64(1, 8);
    w.add_string(2, "test");
    w.add_message(7, encodedGraph);
    w.add_message(8, opset("", 17));
  });
}

inline std::string modelWithInitializer(const std::string &encodedTensor) {
  return model(graph({.initializers = {encodedTensor}}));
}

/// Reads from a heap block of exactly that size, so that a sanitizer sees any read beyond it.
inline Model read(const std::string &bytes, const std::filesystem::path &folder = {}) {
  std::shared_ptr<std::byte[]> block(new std::byte[bytes.size()]);
  std::memcpy(block.get(), bytes.data(), bytes.size());
  return readModel({block.get(), bytes.size()}, block, folder, "m.onnx");
}

/// The error of reading these bytes; the test fails if there is none, or it has several lines.
inline Error readError(const std::string &bytes, const std::filesystem::path &folder = {}) {
  try {
    read(bytes, folder);
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_TRUE(std::string(error.what()).starts_with("m.onnx: ")) << error.what();
    return error;
  }
  ADD_FAILURE() << "expected an error";
  return Error(ErrorKind::Io, "none");
}

inline void expectError(const std::string &bytes, ErrorKind kind, const std::string &text,
                        const std::filesystem::path &folder = {}) {
  Error error = readError(bytes, folder);
  EXPECT_EQ(error.kind(), kind) << error.what();
  EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
      << "expected \"" << text << "\" in: " << error.what();
}

template <class T> std::vector<T> values(const Tensor &tensor) {
  auto *begin = static_cast<const T *>(tensor.data());
  return {begin, begin + tensor.bytes() / sizeof(T)};
}

} // namespace headrace::onnx::test
