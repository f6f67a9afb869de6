#include "analysis/cost/ProcessorRates.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(RatesTest, RoundingKeepsTwoDigits) {
  EXPECT_EQ(rounded(164.7), 160);
  EXPECT_EQ(rounded(0.0374), 0.037);
  EXPECT_EQ(rounded(9.96), 10);
  EXPECT_EQ(rounded(0), 0);
  EXPECT_EQ(rounded(-12.6), -13);
}

TEST(RatesTest, BandwidthFallsBetweenItsLevelsAndStaysBeyondThem) {
  Rates rates;
  rates.memory = {{1e4, 100, 200}, {1e6, 50, 100}, {1e8, 10, 15}};
  EXPECT_DOUBLE_EQ(rates.bytesPerMicrosecond(1), 100e3);
  EXPECT_DOUBLE_EQ(rates.bytesPerMicrosecond(1e6), 50e3);
  EXPECT_DOUBLE_EQ(rates.bytesPerMicrosecond(1e12), 10e3);
  double between = rates.bytesPerMicrosecond(1e7);
  EXPECT_LT(between, 50e3);
  EXPECT_GT(between, 10e3);
}

TEST(RatesTest, AllThreadsHaveTheBandwidthOfAll) {
  Rates rates;
  rates.threads = 3;
  rates.memory = {{1e6, 10, 20}};
  EXPECT_DOUBLE_EQ(rates.bytesPerMicrosecond(1e6, 1), 10e3);
  EXPECT_DOUBLE_EQ(rates.bytesPerMicrosecond(1e6, 2), 15e3);
  EXPECT_DOUBLE_EQ(rates.bytesPerMicrosecond(1e6, 3), 20e3);
  EXPECT_DOUBLE_EQ(rates.bytesPerMicrosecond(1e6, 64), 20e3);
}

TEST(RatesTest, EqualDescriptionsGiveEqualRates) {
  ProcessorDescription processor;
  processor.name = "x86-64-v3";
  Rates a = derivedRates(processor), b = derivedRates(processor);
  EXPECT_EQ(a.f32, b.f32);
  EXPECT_FALSE(a.measured);
  EXPECT_EQ(a.machine, "x86-64-v3");
}

TEST(RatesTest, WiderVectorsComputeFasterAndDoublesSlower) {
  ProcessorDescription narrow, wide;
  wide.vectorBytes = 2 * narrow.vectorBytes;
  auto speed = [](const ProcessorDescription &processor, DType type) {
    return derivedRates(processor).operationsPerMicrosecond(OperationKind::Product, type);
  };
  EXPECT_DOUBLE_EQ(speed(wide, DType::F32), 2 * speed(narrow, DType::F32));
  EXPECT_DOUBLE_EQ(speed(wide, DType::F32), 2 * speed(wide, DType::F64));
}

TEST(RatesTest, FamiliesOfProcessorsHaveTheirSpeeds) {
  auto product = [](std::string_view vendor, unsigned family, unsigned model) {
    ProcessorDescription processor;
    processor.vectorBytes = 64;
    processor.speeds = speedsOfFamily(vendor, family, model);
    return derivedRates(processor).operationsPerMicrosecond(OperationKind::Product, DType::F32) /
           1e3;
  };
  // Zen 5 and Sapphire Rapids multiply vectors of 64 bytes twice per cycle, Zen 4 once.
  EXPECT_NEAR(product("AuthenticAMD", 26, 2), 275, 0.3 * 275);
  EXPECT_NEAR(product("GenuineIntel", 6, 143), 190, 0.3 * 190);
  EXPECT_LT(product("AuthenticAMD", 25, 0x11), 0.6 * product("AuthenticAMD", 26, 2));
  EXPECT_EQ(product("AuthenticAMD", 99, 0), product("an unknown vendor", 6, 143));
}

TEST(RatesTest, LibrariesHaveSpeedsForTheirTypesAlone) {
  Rates rates = derivedRates({});
  EXPECT_GT(rates.libraryOperationsPerMicrosecond(DType::F32, 100), 0);
  EXPECT_GT(rates.libraryOperationsPerMicrosecond(DType::F64, 100), 0);
  EXPECT_EQ(rates.libraryOperationsPerMicrosecond(DType::I32, 100), 0);
  EXPECT_LT(rates.libraryOperationsPerMicrosecond(DType::F32, 6),
            0.3 * rates.libraryOperationsPerMicrosecond(DType::F32, 24));
  rates.libraryF32.clear();
  EXPECT_EQ(rates.libraryOperationsPerMicrosecond(DType::F32, 100), 0);
}

TEST(RatesTest, ThisMachineHasANameAndCaches) {
  ProcessorDescription host = describeHost();
  EXPECT_FALSE(host.name.empty());
  EXPECT_GE(host.threads, 1);
  EXPECT_GE(host.coreBytes, host.nearBytes);
  EXPECT_GE(host.sharedBytes, host.coreBytes);
}

} // namespace
} // namespace headrace
