#include "runtime/matrix/Number.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace headrace {
namespace {

/// Reads all of the text, or gives nothing.
bool parses(const std::string &text, double &value) {
  const char *end = text.data() + text.size();
  return parseNumber(text.data(), end, value) == end;
}

double parsed(const std::string &text) {
  double value = 0;
  EXPECT_TRUE(parses(text, value)) << text;
  return value;
}

bool sameBits(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

TEST(Number, ReadsWhatStrtodReads) {
  for (const char *text : {"0",
                           "-0",
                           "1",
                           "+1",
                           "-1.5",
                           ".5",
                           "5.",
                           "00012.500",
                           "1e3",
                           "1E+3",
                           "2.5e-3",
                           "1e22",
                           "1e23",
                           "123456789012345678",
                           "9007199254740993",
                           "9007199254740992",
                           "0.1",
                           "3.14159",
                           "1.7976931348623157e308",
                           "2.2250738585072014e-308",
                           "5e-324",
                           "2.4703282292062328e-324",
                           "0.000000000000000000000000000000000000001",
                           "123456789012345678901234567890",
                           "1234567890.12345678901234567890",
                           "0e5",
                           "0.0e400",
                           "8.98846567431158e307",
                           "7.2057594037927933e16",
                           "18446744073709551615",
                           "18446744073709551616"})
    EXPECT_TRUE(sameBits(parsed(text), std::strtod(text, nullptr))) << text;
}

TEST(Number, ReadsRandomDecimalsExactly) {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text = std::to_string(engine() >> (engine() % 64));
    if (engine() % 2)
      text.insert(engine() % (text.size() + 1), ".");
    if (engine() % 2)
      text += "e" + std::to_string(static_cast<int>(engine() % 640) - 330);
    EXPECT_TRUE(sameBits(parsed(text), std::strtod(text.c_str(), nullptr))) << text;
  }
}

TEST(Number, ReadsWordsInAnyCase) {
  double inf = std::numeric_limits<double>::infinity();
  for (const char *text : {"Inf", "inf", "+Inf", "Infinity", "INFINITY"})
    EXPECT_EQ(parsed(text), inf) << text;
  EXPECT_EQ(parsed("-Infinity"), -inf);
  EXPECT_TRUE(std::isnan(parsed("NaN")));
  EXPECT_TRUE(std::isnan(parsed("nan")));
}

TEST(Number, BeyondAllDoublesIsInfiniteOrZero) {
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parsed("1e400"), inf);
  EXPECT_EQ(parsed("-1e999999999999999999999"), -inf);
  EXPECT_EQ(parsed("1e-400"), 0);
  EXPECT_EQ(parsed("123456789012345678901234567890e-999999999"), 0);
}

TEST(Number, RefusesTheRest) {
  double value = 0;
  for (const char *text : {"",    "-",  "+",    ".",   "e5", "1e", "1e+", "abc", "1.2.3", "--1",
                           "+-1", "1,", "0x10", "1 2", " 1", "NA", "in",  "-.",  "1d",    "TRUE"})
    EXPECT_FALSE(parses(text, value)) << text;
}

TEST(Number, StopsWhereTheTextDoes) {
  const char text[] = "12345";
  double value = 0;
  EXPECT_EQ(parseNumber(text, text + 2, value), text + 2);
  EXPECT_EQ(value, 12);
}

TEST(Number, WritesTheShortestTextThatReadsBack) {
  auto written = [](double value) {
    std::string text = "x";
    appendNumber(text, value);
    return text.substr(1);
  };
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(-0.0), "-0");
  EXPECT_EQ(written(100000), "100000");
  EXPECT_EQ(written(-7), "-7");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1e300), "1e+300");
  EXPECT_EQ(written(inf), "Infinity");
  EXPECT_EQ(written(-inf), "-Infinity");
  EXPECT_EQ(written(std::nan("")), "NaN");
  std::mt19937_64 engine(2);
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = engine();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isnan(value))
      EXPECT_TRUE(sameBits(parsed(written(value)), value)) << written(value);
  }
}

} // namespace
} // namespace headrace
