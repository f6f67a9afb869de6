#include "dialect/ConstantData.h"
#include "dialect/ConstantPool.h"
#include "dialect/Hr.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace headrace {
namespace {

class ConstantPools : public ::testing::Test {
protected:
  ConstantPools() { context.loadDialect<hr::HrDialect>(); }

  ElementsAttr constant(float value) {
    Tensor tensor = Tensor::allocate(DType::F32, {64, 64});
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<float>()[i] = value + static_cast<float>(i);
    return tensorAttribute(tensor, RankedTensorType::get({64, 64}, Float32Type::get(&context)));
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

} // namespace
} // namespace headrace
