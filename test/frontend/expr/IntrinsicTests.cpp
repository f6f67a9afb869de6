// Intrinsics declared from C++, by the same expressions.
#include "driver/programs/DeclareIntrinsic.h"
#include "driver/programs/ExpressionModel.h"
#include "driver/schedule/ProgramSchedule.h"
#include "runtime/system/Error.h"

#include <gtest/gtest.h>

namespace headrace::expr {
namespace {

Stage product(int64_t n, int64_t m, int64_t k, DType type = DType::F32) {
  Stage a = placeholder({n, k}, type, "A"), b = placeholder({k, m}, type, "B");
  Axis r = axis(k, "k");
  return compute({n, m}, [&](auto i) { return sum(a(i[0], r) * b(r, i[1]), {r}); }, "C",
                 {"i", "j"});
}

constexpr char kCall[] = "C: tile i j by 4 4\nC: split k by 4 -> k.o k.i\n"
                         "C: reorder i.o j.o k.o i.i j.i k.i\n"
                         "C: tensorize i.i j.i k.i with gemm4x4\n";

TEST(Intrinsic, ComputesTheSame) {
  declareIntrinsic("gemm4x4", product(4, 4, 4));
  Settings settings;
  settings.recipe = kCall;
  auto model = makeModel({product(8, 12, 4)}, "product", settings);
  std::vector<Tensor> inputs{Tensor::allocate(DType::F32, {8, 4}),
                             Tensor::allocate(DType::F32, {4, 12})};
  for (Tensor &input : inputs)
    for (int64_t i = 0; i < input.elements(); ++i)
      input.as<float>()[i] = static_cast<float>(i % 7) - 2;
  Tensor found = model->run(inputs).front(), expected = model->reference(inputs).front();
  for (int64_t i = 0; i < found.elements(); ++i)
    EXPECT_EQ(found.as<float>()[i], expected.as<float>()[i]);
}

TEST(Intrinsic, RefusesOtherTypes) {
  declareIntrinsic("gemm4x4", product(4, 4, 4));
  ProgramSchedule schedule({product(8, 8, 8, DType::F64)});
  std::string before = schedule.recipe();
  try {
    schedule.apply(kCall);
    FAIL() << "f64 passed for f32";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("elements are f64 in 'A'"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(schedule.recipe(), before);
}

TEST(Intrinsic, NeedsALibraryForASymbol) {
  EXPECT_THROW(declareIntrinsic("x", product(4, 4, 4), "", "symbol"), Error);
  EXPECT_THROW(declareIntrinsic("x", product(4, 4, 4), "libnowhere.so"), Error);
}

} // namespace
} // namespace headrace::expr
