#include "dialect/ConstantData.h"

#include "mlir/IR/Builders.h"

#include "ReferenceHarness.h"

namespace headrace {
namespace {

class ConstantDataTest : public ReferenceTest {
protected:
  mlir::RankedTensorType type(const Tensor &tensor) {
    return mlir::RankedTensorType::get(tensor.shape(), elementType(tensor.dtype()));
  }
  mlir::Type elementType(DType dtype) {
    mlir::Builder b(&context);
    switch (dtype) {
    case DType::Bool:
      return b.getI1Type();
    case DType::U8:
      return b.getIntegerType(8, false);
    case DType::I64:
      return b.getI64Type();
    case DType::F16:
      return b.getF16Type();
    default:
      return b.getF32Type();
    }
  }
  Tensor roundTrip(const Tensor &tensor) {
    return constantTensor(tensorAttribute(tensor, type(tensor)));
  }
};

std::vector<float> counted(int64_t count) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>(i);
  return numbers;
}

TEST_F(ConstantDataTest, SmallTensorsBecomeDense) {
  Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(mlir::isa<mlir::DenseElementsAttr>(tensorAttribute(x, type(x))));
  EXPECT_EQ(values<float>(roundTrip(x)), values<float>(x));
  EXPECT_EQ(roundTrip(x).shape(), x.shape());
  Tensor bytes = tensor<uint8_t>({3}, {200, 0, 255});
  EXPECT_EQ(values<uint8_t>(roundTrip(bytes)), values<uint8_t>(bytes));
  Tensor half = tensor<float>({2}, {0.5, -3}).converted(DType::F16);
  EXPECT_EQ(values<float>(roundTrip(half).converted(DType::F32)), (std::vector<float>{0.5, -3}));
  EXPECT_EQ(roundTrip(tensor<float>({0, 4}, {})).shape(), (Shape{0, 4}));
  EXPECT_EQ(values<float>(roundTrip(tensor<float>({}, {7}))), std::vector<float>{7});
}

TEST_F(ConstantDataTest, EqualElementsAreStoredOnce) {
  Tensor x = tensor<float>({100, 100}, std::vector<float>(10'000, 3));
  auto attribute = mlir::dyn_cast<mlir::DenseElementsAttr>(tensorAttribute(x, type(x)));
  ASSERT_TRUE(attribute);
  EXPECT_TRUE(attribute.isSplat());
  EXPECT_EQ(values<float>(constantTensor(attribute)), values<float>(x));
}

TEST_F(ConstantDataTest, Booleans) {
  std::vector<bool> flags(3000);
  for (size_t i = 0; i < flags.size(); ++i)
    flags[i] = i % 3 == 0;
  EXPECT_EQ(values<bool>(roundTrip(tensor<bool>({3000}, flags))), flags);
  EXPECT_EQ(values<bool>(roundTrip(tensor<bool>({3}, {1, 0, 1}))), (std::vector<bool>{1, 0, 1}));
  EXPECT_EQ(values<bool>(roundTrip(tensor<bool>({9}, std::vector<bool>(9, true)))),
            std::vector<bool>(9, true));
}

TEST_F(ConstantDataTest, LargeTensorsAreNotCopied) {
  Tensor x = tensor<float>({1000}, counted(1000));
  auto attribute = tensorAttribute(x, type(x));
  EXPECT_TRUE(mlir::isa<mlir::DenseResourceElementsAttr>(attribute));
  EXPECT_EQ(constantTensor(attribute).data(), x.data());
}

TEST_F(ConstantDataTest, TheAttributeKeepsTheMemoryAlive) {
  auto numbers = std::make_shared<std::vector<float>>(counted(1000));
  std::weak_ptr<std::vector<float>> watch = numbers;
  {
    mlir::MLIRContext local;
    Tensor x = Tensor::borrow(DType::F32, {1000}, numbers->data(), numbers);
    auto attribute =
        tensorAttribute(x, mlir::RankedTensorType::get({1000}, mlir::Float32Type::get(&local)));
    numbers.reset();
    x = Tensor();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(values<float>(constantTensor(attribute)), counted(1000));
  }
  EXPECT_TRUE(watch.expired());
}

TEST_F(ConstantDataTest, UnalignedDataIsCopied) {
  std::vector<char> memory(1000 * sizeof(float) + 1);
  auto numbers = counted(1000);
  std::memcpy(memory.data() + 1, numbers.data(), 1000 * sizeof(float));
  Tensor x = Tensor::borrow(DType::F32, {1000}, memory.data() + 1, nullptr);
  EXPECT_EQ(values<float>(roundTrip(x)), numbers);
}

TEST_F(ConstantDataTest, RefusesDataOfTheWrongSize) {
  auto module = parse(R"(
    func.func @f() -> tensor<4xf32> {
      %c = hr.constant dense_resource<short> : tensor<4xf32>
      return %c : tensor<4xf32>
    }
    {-# dialect_resources: { builtin: { short: "0x040000000000803F" } } #-})");
  ASSERT_TRUE(module);
  EXPECT_THROW(evaluateFunction(*module->getOps<mlir::func::FuncOp>().begin(), {}, {}), Error);
}

TEST_F(ConstantDataTest, RefusesAResourceWithoutData) {
  EXPECT_THROW(evaluate("func.func @f() -> tensor<4xf32> { %c = hr.constant "
                        "dense_resource<missing> : tensor<4xf32> return %c : tensor<4xf32> }",
                        {}),
               Error);
}

TEST_F(ConstantDataTest, RefusesATypeThatDoesNotFit) {
  Tensor x = tensor<float>({2}, {1, 2});
  EXPECT_THROW(tensorAttribute(x, mlir::RankedTensorType::get({3}, elementType(DType::F32))),
               InternalError);
  EXPECT_THROW(tensorAttribute(x, mlir::RankedTensorType::get({2}, elementType(DType::F16))),
               InternalError);
}

} // namespace
} // namespace headrace
