#include "analysis/cost/CostModel.h"

#include "analysis/cost/ProcessorRates.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

class CostModelTest : public testing::Test {
protected:
  Rates rates = derivedRates({});
  std::unique_ptr<const CostModel> model = makeRooflineModel(rates);

  static Work moving(double bytes, double workingSet) {
    Work work;
    work.move(bytes, workingSet);
    return work;
  }
  static Work computing(OperationKind kind, double operations, double efficiency = 1) {
    Work work;
    work.arithmetic.push_back({kind, DType::F32, operations, efficiency});
    return work;
  }
};

TEST_F(CostModelTest, MoreBytesTakeLonger) {
  double last = 0;
  for (double bytes = 1e3; bytes < 1e10; bytes *= 10) {
    double time = model->microseconds(moving(bytes, bytes));
    EXPECT_GT(time, last);
    last = time;
  }
}

TEST_F(CostModelTest, DataFromFartherAwayTakesLonger) {
  EXPECT_LT(model->microseconds(moving(1e6, 1e4)), model->microseconds(moving(1e6, 1e9)));
}

TEST_F(CostModelTest, MoreOperationsTakeLonger) {
  EXPECT_LT(model->microseconds(computing(OperationKind::Simple, 1e6)),
            model->microseconds(computing(OperationKind::Simple, 2e6)));
  EXPECT_LT(model->microseconds(computing(OperationKind::Simple, 1e6)),
            model->microseconds(computing(OperationKind::Elementary, 1e6)));
  EXPECT_LT(model->microseconds(computing(OperationKind::Product, 1e6, 1)),
            model->microseconds(computing(OperationKind::Product, 1e6, 0.5)));
}

TEST_F(CostModelTest, MovingAndComputingOverlapInPart) {
  Work both = moving(1e9, 1e9), computed = computing(OperationKind::Simple, 1e9);
  double moved = model->microseconds(both), alone = model->microseconds(computed);
  both.arithmetic = computed.arithmetic;
  EXPECT_GT(model->microseconds(both), std::max(moved, alone));
  EXPECT_LT(model->microseconds(both), moved + alone);
}

TEST_F(CostModelTest, ThreadsShareParts) {
  Work work = computing(OperationKind::Product, 1e9);
  EXPECT_DOUBLE_EQ(model->microseconds(work, 1), model->microseconds(work, 4)); // one part
  work.parts = 4;
  EXPECT_LT(model->microseconds(work, 4), 0.3 * model->microseconds(work, 1));
  // The fifth part keeps three threads waiting.
  work.parts = 5;
  EXPECT_GT(model->microseconds(work, 4), 0.39 * model->microseconds(work, 1));
}

TEST_F(CostModelTest, SharesOfResourcesAddUpToAll) {
  Work work = moving(1e7, 1e9);
  work.arithmetic = computing(OperationKind::Simple, 1e6).arithmetic;
  Estimate far = model->estimate(work);
  EXPECT_NEAR(far.memory + far.cache + far.arithmetic + far.calls, 1, 1e-9);
  EXPECT_GT(far.memory, 0.5);
  work = computing(OperationKind::Product, 1e9);
  work.move(1e4, 1e4);
  Estimate near = model->estimate(work);
  EXPECT_GT(near.arithmetic, 0.9);
  EXPECT_GT(near.cache, 0);
  EXPECT_EQ(near.memory, 0);
  EXPECT_DOUBLE_EQ(model->estimate({}).calls, 1);
}

TEST_F(CostModelTest, NothingTakesAsLongAsItsCall) {
  EXPECT_DOUBLE_EQ(model->microseconds({}), rates.kernelCall);
  Work library;
  library.kernelCalls = 0;
  library.libraryCalls = 2;
  EXPECT_DOUBLE_EQ(model->microseconds(library), 2 * rates.libraryCall);
}

TEST_F(CostModelTest, DivisionsGoBesideOtherArithmetic) {
  Work both = computing(OperationKind::Simple, 1e6),
       divisions = computing(OperationKind::Division, 1e5);
  double alone = model->microseconds(both) + model->microseconds(divisions) - rates.kernelCall;
  both.arithmetic.push_back(divisions.arithmetic.front());
  EXPECT_LT(model->microseconds(both), 0.99 * alone);
  EXPECT_GT(model->microseconds(both), model->microseconds(divisions));
}

TEST_F(CostModelTest, LibrariesAreSlowerAtSmallProducts) {
  Work small = computing(OperationKind::Product, 1e6);
  small.libraryCalls = 1;
  Work large = small;
  small.librarySide = 16;
  large.librarySide = 512;
  EXPECT_GT(model->microseconds(small), model->microseconds(large));
}

TEST(RegisterTileTest, FullTilesReachNearlyAllOfIt) {
  auto efficiency = [](double rows, double width, double depth) {
    return RegisterTile{rows, width, depth, /*lanes=*/8}.efficiency();
  };
  EXPECT_GT(efficiency(14, 16, 1e6), 0.999);
  EXPECT_LT(efficiency(1, 8, 1e6), 0.2);                             // waits for its sum
  EXPECT_LT(efficiency(8, 8, 1e6), efficiency(8, 16, 1e6));          // waits for its loads
  EXPECT_LT(efficiency(14, 4, 1e6), efficiency(14, 8, 1e6));         // half of the lanes are idle
  EXPECT_LT(efficiency(14, 4, 1e6), efficiency(14, 6, 1e6));         // fewer of them
  EXPECT_LT(efficiency(14, 6, 1e6) / 6, efficiency(14, 8, 1e6) / 8); // loaded in parts
  EXPECT_LT(efficiency(14, 16, 8), efficiency(14, 16, 800));         // begins and ends often
}

TEST(RegisterTileTest, UnitsOfHalfAVectorLoseLessOnShortOnes) {
  auto efficiency = [](double width, double unitLanes) {
    return RegisterTile{14, width, 1e6, /*lanes=*/16, unitLanes}.efficiency();
  };
  EXPECT_GT(efficiency(24, 8), 0.99);
  EXPECT_LT(efficiency(24, 16), 0.8);
  EXPECT_LT(efficiency(29, 8), 0.95); // under a mask
  EXPECT_NEAR(efficiency(32, 8), efficiency(32, 16), 1e-6);
}

} // namespace
} // namespace headrace
