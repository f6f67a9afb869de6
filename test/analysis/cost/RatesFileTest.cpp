#include "analysis/cost/RatesFile.h"

#include "analysis/cost/ProcessorRates.h"
#include "runtime/system/Error.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headrace {
namespace {

namespace fs = std::filesystem;

class RatesFileTest : public testing::Test {
protected:
  RatesFileTest()
      : folder(fs::temp_directory_path() / ("headrace-rates-" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
    ::setenv("HEADRACE_CACHE_DIR", folder.c_str(), 1);
    rates = derivedRates({"a processor", 32, 2});
    rates.measured = true;
  }
  ~RatesFileTest() override {
    ::unsetenv("HEADRACE_CACHE_DIR");
    fs::remove_all(folder);
  }

  fs::path file() const {
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".rates")
        return entry.path();
    return {};
  }

  static std::string errorOf(const std::string &text) {
    try {
      (void)ratesFromText(text, "rates.json");
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  static std::string replaced(std::string text, const std::string &what, const std::string &by) {
    size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
  }

  fs::path folder;
  Rates rates;
};

TEST_F(RatesFileTest, TextHoldsEverything) {
  Rates back = ratesFromText(ratesToText(rates), "rates.json");
  EXPECT_EQ(ratesToText(back), ratesToText(rates));
  EXPECT_EQ(back.f64, rates.f64);
  EXPECT_EQ(back.memory.size(), rates.memory.size());
  EXPECT_TRUE(back.measured);
}

TEST_F(RatesFileTest, StoredRatesAreFoundAgain) {
  EXPECT_FALSE(storedRates("a processor", 2));
  EXPECT_TRUE(storeRates(rates));
  std::optional<Rates> back = storedRates("a processor", 2);
  ASSERT_TRUE(back);
  EXPECT_EQ(ratesToText(*back), ratesToText(rates));
}

TEST_F(RatesFileTest, AnotherMachineOrNumberOfThreadsHasNone) {
  EXPECT_TRUE(storeRates(rates));
  EXPECT_FALSE(storedRates("another processor", 2));
  EXPECT_FALSE(storedRates("a processor", 4));
}

TEST_F(RatesFileTest, ADamagedFileCountsAsNone) {
  EXPECT_TRUE(storeRates(rates));
  ASSERT_FALSE(file().empty());
  std::fstream stream(file(), std::ios::in | std::ios::out);
  stream.seekp(200);
  stream << "damage";
  stream.close();
  std::string warning;
  EXPECT_FALSE(storedRates("a processor", 2, &warning));
  EXPECT_EQ(warning, "the stored machine parameters are damaged");
  fs::resize_file(file(), 10);
  EXPECT_FALSE(storedRates("a processor", 2));
}

TEST_F(RatesFileTest, WithoutACacheNothingIsKept) {
  ::setenv("HEADRACE_CACHE_DIR", "", 1);
  EXPECT_FALSE(storeRates(rates));
  EXPECT_FALSE(storedRates("a processor", 2));
}

TEST_F(RatesFileTest, TextThatHoldsNoRatesIsRefusedWithTheReason) {
  std::string text = ratesToText(rates);
  EXPECT_EQ(errorOf("no json"), "rates.json: rates.json is not JSON");
  EXPECT_EQ(errorOf("{}"), "rates.json: expected 'version'");
  EXPECT_EQ(errorOf(replaced(text, "\"version\": 1", "\"version\": 99")),
            "rates.json: expected version 1, got 99");
  EXPECT_EQ(errorOf(replaced(text, "\"kernel\": 0.1", "\"kernel\": -1")),
            "rates.json: expected a positive number for microseconds, got -1");
  EXPECT_EQ(errorOf(replaced(text, "\"kernel\": 0.1", "\"kernel\": \"fast\"")),
            "rates.json: expected a positive number for microseconds, got \"fast\"");
  EXPECT_EQ(errorOf(replaced(text, "\"threads\": 2", "\"threads\": 0")),
            "rates.json: expected a number from 1 to 1048576, got 0");
}

TEST_F(RatesFileTest, LevelsOfMemoryMustAscend) {
  std::swap(rates.memory.front(), rates.memory.back());
  EXPECT_EQ(errorOf(ratesToText(rates)), "rates.json: expected ascending rows in 'memory'");
  rates.memory.clear();
  EXPECT_EQ(errorOf(ratesToText(rates)), "rates.json: expected at least one row in 'memory'");
}

} // namespace
} // namespace headrace
