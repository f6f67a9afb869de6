#include "ModelBuilder.h"
#include <cstring>

namespace headrace::onnx::test {
namespace {

Tensor initializer(const std::string &encodedTensor) {
  return read(modelWithInitializer(encodedTensor)).graph.initializers.at(0).tensor;
}

/// A tensor whose data is in the given int32_data-like field, packed.
template <class T>
std::string varintTensor(int type, uint32_t field, const std::vector<T> &elements) {
  return tensor("w", type, {static_cast<int64_t>(elements.size())}, [&](auto &w) {
    std::string packed;
    for (T element : elements)
      protozero::write_varint(std::back_inserter(packed),
                              static_cast<uint64_t>(static_cast<int64_t>(element)));
    w.add_bytes(field, packed);
  });
}

TEST(TensorReader, RawDataIsUsedInPlaceOnlyWhenAligned) {
  std::string bytes = modelWithInitializer(rawTensor<float>("w", Float, {3}, {1.5f, -2.0f, 1e30f}));
  float first = 1.5f;
  size_t dataOffset = bytes.find(std::string(reinterpret_cast<char *>(&first), sizeof(first)));
  ASSERT_NE(dataOffset, std::string::npos);
  for (size_t shift : {0, 1, 2, 3}) {
    auto block = std::make_shared<std::vector<double>>(bytes.size() / 8 + 2);
    auto *base = reinterpret_cast<std::byte *>(block->data());
    size_t start = (4 - dataOffset % 4) % 4 + shift;
    std::memcpy(base + start, bytes.data(), bytes.size());
    Tensor tensor = readModel({base + start, bytes.size()}, block, {}, "m.onnx")
                        .graph.initializers.at(0)
                        .tensor;
    EXPECT_EQ(values<float>(tensor), (std::vector<float>{1.5f, -2.0f, 1e30f}));
    EXPECT_EQ(tensor.data() == base + start + dataOffset, shift == 0) << "shift " << shift;
    std::weak_ptr<std::vector<double>> alive = block;
    block.reset();
    EXPECT_EQ(alive.expired(), shift != 0) << "a borrowed tensor keeps the model's bytes";
  }
}

TEST(TensorReader, TypedFloats) {
  std::vector<float> f32 = {1, -0.5f, 3e38f};
  std::string packed =
      tensor("w", Float, {3}, [&](auto &w) { w.add_packed_float(4, f32.begin(), f32.end()); });
  EXPECT_EQ(values<float>(initializer(packed)), f32);
  std::string unpacked = tensor("w", Float, {3}, [&](auto &w) {
    for (float element : f32)
      w.add_float(4, element);
  });
  EXPECT_EQ(values<float>(initializer(unpacked)), f32);
  std::vector<double> f64 = {1e300, -2};
  std::string doubles = tensor("w", Double, {2, 1},
                               [&](auto &w) { w.add_packed_double(10, f64.begin(), f64.end()); });
  EXPECT_EQ(values<double>(initializer(doubles)), f64);
}

TEST(TensorReader, TypedIntegers) {
  auto check = [](auto type, int code, DType dtype, uint32_t field) {
    using T = decltype(type);
    std::vector<T> expected = {std::numeric_limits<T>::lowest(), 0, 1,
                               std::numeric_limits<T>::max()};
    Tensor tensor = initializer(varintTensor(code, field, expected));
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(values<T>(tensor), expected);
  };
  check(int8_t(), Int8, DType::I8, 5);
  check(uint8_t(), Uint8, DType::U8, 5);
  check(int16_t(), Int16, DType::I16, 5);
  check(uint16_t(), Uint16, DType::U16, 5);
  check(uint16_t(), Float16, DType::F16, 5);
  check(uint16_t(), BFloat16, DType::BF16, 5);
  check(int32_t(), Int32, DType::I32, 5);
  check(int64_t(), Int64, DType::I64, 7);
  check(uint32_t(), Uint32, DType::U32, 11);
  check(uint64_t(), Uint64, DType::U64, 11);
  EXPECT_EQ(values<uint8_t>(initializer(varintTensor<int>(Bool, 5, {1, 0, 1}))),
            (std::vector<uint8_t>{1, 0, 1}));
  std::string unpacked = tensor("w", Int64, {2}, [](auto &w) {
    w.add_int64(7, -1);
    w.add_int64(7, 300);
  });
  EXPECT_EQ(values<int64_t>(initializer(unpacked)), (std::vector<int64_t>{-1, 300}));
}

TEST(TensorReader, NumbersOfFourBitsLieInPairs) {
  constexpr int Uint4 = 21, Int4 = 22, Float4 = 23;
  // 1, -8, 7 with the first of a pair in the low half, and half a byte to spare.
  std::vector<uint8_t> pairs = {0x81, 0x07};
  Tensor packed = initializer(rawTensor<uint8_t>("w", Int4, {3}, pairs));
  EXPECT_EQ(packed.dtype(), DType::I4);
  EXPECT_EQ(values<int8_t>(packed), (std::vector<int8_t>{1, -8, 7}));
  EXPECT_EQ(values<uint8_t>(initializer(rawTensor<uint8_t>("w", Uint4, {3}, pairs))),
            (std::vector<uint8_t>{1, 8, 7}));
  EXPECT_EQ(initializer(rawTensor<uint8_t>("w", Float4, {4}, pairs)).dtype(), DType::F4E2M1);
  std::string typed = tensor("w", Int4, {3}, [](auto &w) {
    w.add_int32(5, 0x81);
    w.add_int32(5, 0x07);
  });
  EXPECT_EQ(values<int8_t>(initializer(typed)), (std::vector<int8_t>{1, -8, 7}));
  expectError(modelWithInitializer(rawTensor<uint8_t>("w", Int4, {5}, pairs)),
              ErrorKind::InvalidModel, "'w': expected 3");
}

TEST(TensorReader, NumbersOfTwoBitsLieFourToAByte) {
  constexpr int Uint2 = 25, Int2 = 26;
  // 1, -2, -1, 0 and 1, with three places to spare.
  std::vector<uint8_t> fours = {0b00111001, 0b01};
  EXPECT_EQ(values<int8_t>(initializer(rawTensor<uint8_t>("w", Int2, {5}, fours))),
            (std::vector<int8_t>{1, -2, -1, 0, 1}));
  EXPECT_EQ(values<uint8_t>(initializer(rawTensor<uint8_t>("w", Uint2, {5}, fours))),
            (std::vector<uint8_t>{1, 2, 3, 0, 1}));
  expectError(modelWithInitializer(rawTensor<uint8_t>("w", Int2, {9}, fours)),
              ErrorKind::InvalidModel, "'w': expected 3");
}

TEST(TensorReader, ScalarsAndEmptyTensors) {
  Tensor scalar = initializer(rawTensor<float>("w", Float, {}, {7}));
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_EQ(values<float>(scalar), std::vector<float>{7});
  Tensor empty = initializer(tensor("w", Float, {0, 3}, [](auto &) {}));
  EXPECT_EQ(empty.shape(), (Shape{0, 3}));
  EXPECT_EQ(empty.bytes(), 0u);
}

TEST(TensorReader, PackedDims) {
  std::vector<int64_t> dims = {2, 1};
  std::string encoded = message([&](auto &w) {
    w.add_packed_int64(1, dims.begin(), dims.end());
    w.add_int32(2, Uint8);
    w.add_string(8, "w");
    w.add_bytes(9, "ab");
  });
  EXPECT_EQ(initializer(encoded).shape(), (Shape{2, 1}));
}

void expectTensorError(const std::string &encodedTensor, ErrorKind kind, const std::string &text) {
  expectError(modelWithInitializer(encodedTensor), kind, text);
}

TEST(TensorReader, SizesMustMatch) {
  auto invalid = ErrorKind::InvalidModel;
  expectTensorError(rawTensor<float>("w", Float, {3}, {1, 2}), invalid,
                    "initializer 'w': expected 3 elements for shape 3, got data for 2");
  expectTensorError(rawTensor<char>("w", Float, {1}, {1, 2, 3}), invalid, "'w'");
  expectTensorError(tensor("w", Float, {}, [](auto &) {}), invalid, "got data for 0");
  expectTensorError(tensor("w", Int64, {3}, [](auto &w) { w.add_int64(7, 1); }), invalid,
                    "got data for 1");
  expectTensorError(rawTensor<float>("w", Float, {-1}, {1}), invalid, "'w'");
}

TEST(TensorReader, HugeShapesAllocateNothing) {
  int64_t huge = int64_t(1) << 40;
  for (std::vector<int64_t> dims : {std::vector<int64_t>{huge}, {huge, huge}, {huge, huge, huge}}) {
    expectTensorError(rawTensor<float>("w", Float, dims, {1}), ErrorKind::InvalidModel, "'w'");
    expectTensorError(tensor("w", Int64, dims, [](auto &w) { w.add_int64(7, 1); }),
                      ErrorKind::InvalidModel, "'w'");
  }
  expectTensorError(rawTensor<float>("w", Float, std::vector<int64_t>(33, 1), {1}),
                    ErrorKind::InvalidModel, "more than 32 dimensions");
  EXPECT_EQ(
      initializer(rawTensor<float>("w", Float, std::vector<int64_t>(32, 1), {1})).shape().size(),
      32u);
}

TEST(TensorReader, ValuesMustFitTheirType) {
  expectTensorError(varintTensor<int>(Int8, 5, {128}), ErrorKind::InvalidModel, "got 128");
  expectTensorError(varintTensor<int>(Uint8, 5, {-1}), ErrorKind::InvalidModel, "got -1");
  expectTensorError(varintTensor<int>(Float16, 5, {65536}), ErrorKind::InvalidModel, "65536");
  expectTensorError(varintTensor<int>(Bool, 5, {2}), ErrorKind::InvalidModel, "bool");
  expectTensorError(rawTensor<uint8_t>("w", Bool, {1}, {2}), ErrorKind::InvalidModel, "bool");
}

TEST(TensorReader, DataInTheWrongOrInTwoPlaces) {
  expectTensorError(varintTensor<int>(Float, 5, {1}), ErrorKind::InvalidModel, "another element");
  expectTensorError(tensor("w", Float, {1},
                           [](auto &w) {
                             w.add_float(4, 1);
                             w.add_bytes(9, "abcd");
                           }),
                    ErrorKind::InvalidModel, "several");
  expectTensorError(tensor("w", Int64, {2},
                           [](auto &w) {
                             w.add_int64(7, 1);
                             w.add_int32(5, 1);
                           }),
                    ErrorKind::InvalidModel, "several");
}

TEST(TensorReader, StringsAreReadAndChecked) {
  auto words = [](std::vector<int64_t> dims, std::vector<std::string> texts) {
    return tensor("words", StringType, dims, [&](auto &w) {
      for (const std::string &text : texts)
        w.add_string(6, text);
    });
  };
  Initializer found = read(modelWithInitializer(words({2, 1}, {"a", ""}))).graph.initializers.at(0);
  ASSERT_TRUE(found.strings);
  EXPECT_FALSE(found.tensor);
  EXPECT_EQ(found.strings->shape, (Shape{2, 1}));
  EXPECT_EQ(found.strings->elements, (std::vector<std::string>{"a", ""}));
  expectTensorError(words({3}, {"a"}), ErrorKind::InvalidModel, "'words': expected 3 elements");
  expectTensorError(words({1}, {"\xff"}), ErrorKind::InvalidModel,
                    "'words': expected strings in UTF-8");
}

TEST(TensorReader, UnsupportedTypesAreNamed) {
  expectTensorError(rawTensor<float>("c", Complex64, {1}, {1, 2}), ErrorKind::Unsupported,
                    "complex64");
  expectTensorError(rawTensor<char>("q", 99, {2}, {1}), ErrorKind::Unsupported, "code 99");
  expectTensorError(rawTensor<char>("q", -5, {2}, {1}), ErrorKind::Unsupported, "code -5");
  expectTensorError(rawTensor<float>("u", 0, {1}, {1}), ErrorKind::InvalidModel, "'u'");
}

} // namespace
} // namespace headrace::onnx::test
