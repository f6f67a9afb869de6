#include "dialect/ConstantData.h"
#include "dialect/ConstantPool.h"
#include "dialect/Hr.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;

namespace headrace {
namespace {

class ConstantPools : public ::testing::Test {
protected:
  ConstantPools() { context.loadDialect<hr::HrDialect>(); }

  ElementsAttr constant(float value, int64_t rows = 64) {
    Tensor tensor = Tensor::allocate(DType::F32, {rows, 64});
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<float>()[i] = value + static_cast<float>(i);
    return tensorAttribute(tensor, RankedTensorType::get({rows, 64}, Float32Type::get(&context)));
  }

  OwningOpRef<ModuleOp> programOf(ElementsAttr value) {
    OwningOpRef<ModuleOp> program = ModuleOp::create(UnknownLoc::get(&context));
    OpBuilder b = OpBuilder::atBlockEnd(program->getBody());
    b.create<hr::ConstantOp>(b.getUnknownLoc(), value);
    return program;
  }

  MLIRContext context;
};

TEST_F(ConstantPools, ReleaseWhatNoProgramRefersTo) {
  ConstantPool &pool = ConstantPool::of(&context);
  ElementsAttr before = constant(0);
  size_t mark = pool.mark();
  ElementsAttr kept = constant(1), folded = constant(2);
  OwningOpRef<ModuleOp> program = programOf(kept);
  EXPECT_EQ(pool.bytesSince(mark), 2u * 64 * 64 * 4);
  EXPECT_EQ(pool.release(mark, *program), 1u * 64 * 64 * 4);
  EXPECT_EQ(constantTensor(before).as<float>()[1], 1);
  EXPECT_EQ(constantTensor(kept).as<float>()[1], 2);
  EXPECT_ANY_THROW(constantTensor(folded));
}

TEST_F(ConstantPools, TensorsOutliveWhatWasReleased) {
  ConstantPool &pool = ConstantPool::of(&context);
  size_t mark = pool.mark();
  Tensor tensor = constantTensor(constant(5));
  EXPECT_EQ(pool.release(mark, {}), 1u * 64 * 64 * 4);
  EXPECT_EQ(tensor.as<float>()[3], 8);
}

TEST_F(ConstantPools, GiveUpOnlyWhatACompilationMade) {
  ConstantPool &pool = ConstantPool::of(&context);
  auto key = [](ElementsAttr value) {
    return cast<DenseResourceElementsAttr>(value).getRawHandle().getKey();
  };
  ElementsAttr before = constant(0);
  pool.giveUp(key(before));
  pool.beginCompilation();
  ElementsAttr made = constant(1);
  pool.giveUp(key(before));
  pool.giveUp(key(made));
  EXPECT_EQ(constantTensor(before).as<float>()[2], 2);
  EXPECT_ANY_THROW(constantTensor(made));
}

TEST_F(ConstantPools, ShareWhatAnEarlierCompilationMade) {
  ConstantPool &pool = ConstantPool::of(&context);
  constexpr int64_t rows = 512;
  pool.beginCompilation();
  size_t mark = pool.mark();
  Tensor first = constantTensor(constant(1, rows)), other = constantTensor(constant(2, rows));
  pool.release(mark, {});
  pool.beginCompilation();
  EXPECT_EQ(constantTensor(constant(1, rows)).data(), first.data());
  EXPECT_EQ(constantTensor(constant(2, rows)).data(), other.data());
  EXPECT_NE(constantTensor(constant(3, rows)).data(), first.data());
}

TEST_F(ConstantPools, ShareNothingThatIsGone) {
  ConstantPool &pool = ConstantPool::of(&context);
  pool.beginCompilation();
  size_t mark = pool.mark();
  (void)constant(1, 512);
  pool.release(mark, {});
  Tensor again = constantTensor(constant(1, 512));
  EXPECT_EQ(again.as<float>()[7], 8);
}

TEST_F(ConstantPools, ShareNothingThatWasGiven) {
  Tensor first = constantTensor(constant(1, 512));
  EXPECT_NE(constantTensor(constant(1, 512)).data(), first.data());
}

TEST_F(ConstantPools, CopyWhatIsNotAlignedOnce) {
  Tensor memory = Tensor::allocate(DType::F32, {64 * 64 + 1});
  auto type = RankedTensorType::get({64, 64}, Float32Type::get(&context));
  for (int64_t i = 0; i < memory.elements(); ++i)
    memory.as<float>()[i] = static_cast<float>(i);
  const char *bytes = static_cast<const char *>(memory.data()) + 1;
  auto unaligned = ConstantPool::of(&context).add(
      Tensor::borrow(DType::F32, {64, 64}, bytes, memory.owner()), type);
  Tensor first = constantTensor(unaligned);
  EXPECT_EQ(std::memcmp(first.data(), bytes, first.bytes()), 0);
  EXPECT_EQ(constantTensor(unaligned).data(), first.data());
}

TEST_F(ConstantPools, NameConstantsAsInANewContextAfterStartingAgain) {
  auto key = [](ElementsAttr value) {
    return cast<DenseResourceElementsAttr>(value).getRawHandle().getKey().str();
  };
  std::vector<std::string> names{key(constant(1)), key(constant(2)), key(constant(3))};
  EXPECT_EQ(names, (std::vector<std::string>{"data", "data_1", "data_2"}));
  ConstantPool::of(&context).startAgain();
  ElementsAttr first = constant(4), second = constant(5);
  EXPECT_EQ(key(first), names[0]);
  EXPECT_EQ(key(second), names[1]);
  EXPECT_EQ(constantTensor(first).as<float>()[1], 5);
  EXPECT_EQ(constantTensor(second).as<float>()[1], 6);
}

TEST_F(ConstantPools, NameByContentsWhateverCameBefore) {
  ConstantPool &pool = ConstantPool::of(&context);
  auto type = RankedTensorType::get({2}, IntegerType::get(&context, 8));
  auto bytes = [](int8_t first) {
    Tensor tensor = Tensor::allocate(DType::I8, {2});
    tensor.as<int8_t>()[0] = first;
    tensor.as<int8_t>()[1] = 9;
    return tensor;
  };
  ElementsAttr one = pool.addByContents(bytes(1), type), two = pool.addByContents(bytes(2), type);
  EXPECT_NE(one, two);
  pool.release(0, {});
  EXPECT_ANY_THROW(constantTensor(one));
  EXPECT_EQ(pool.addByContents(bytes(2), type), two);
  EXPECT_EQ(pool.addByContents(bytes(1), type), one);
  EXPECT_EQ(constantTensor(one).as<int8_t>()[0], 1);
  EXPECT_EQ(constantTensor(two).as<int8_t>()[0], 2);
}

TEST_F(ConstantPools, HaveTheirDataAgainAfterPrinting) {
  ElementsAttr value = constant(4);
  ConstantPool::of(&context).withoutData([&] { EXPECT_ANY_THROW(constantTensor(value)); });
  EXPECT_EQ(constantTensor(value).as<float>()[1], 5);
}

} // namespace
} // namespace headrace
