#pragma once

#include "runtime/system/Error.h"
#include "runtime/tensor/Tensor.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace headrace::test {

/// Runs `action`, which must throw Error of that kind, and returns the message.
template <class Action> std::string errorOf(ErrorKind kind, Action action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_STREQ(kindName(error.kind()), kindName(kind)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

#define EXPECT_CONTAINS(text, part) EXPECT_PRED2(::headrace::test::contains, text, part)

template <class T> Tensor tensorOf(DType type, Shape shape, const std::vector<T> &values) {
  Tensor tensor = Tensor::allocate(type, std::move(shape));
  EXPECT_EQ(tensor.elements(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tensor.as<T>());
  return tensor;
}

inline Tensor floats(Shape shape, const std::vector<float> &values) {
  return tensorOf(DType::F32, std::move(shape), values);
}

template <class T> std::vector<T> valuesOf(const Tensor &tensor) {
  return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.elements());
}

/// A directory that goes away with the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  std::filesystem::path operator/(const std::string &name) const { return path / name; }

  std::filesystem::path path;
};

} // namespace headrace::test
