#include "runtime/Helpers.h"
#include "runtime/vta/Programs.h"

#include <nlohmann/json.hpp>

namespace headrace::vta {
namespace {

using headrace::test::errorOf;
using Json = nlohmann::ordered_json;

std::string refusalOf(const std::string &key, const Json &value) {
  Json json = Json::parse(Configuration().json());
  json[key] = value;
  return errorOf(ErrorKind::InvalidFile, [&] { Configuration::parse(json.dump(), "c.json"); });
}

TEST(VtaConfiguration, ClassicSizes) {
  Configuration classic = test::exampleConfiguration("block16");
  EXPECT_EQ(classic, Configuration());
  EXPECT_EQ(classic.depth(Memory::Uop), 8192u);
  EXPECT_EQ(classic.depth(Memory::Inp), 2048u);
  EXPECT_EQ(classic.depth(Memory::Wgt), 1024u);
  EXPECT_EQ(classic.depth(Memory::Acc), 2048u);
  EXPECT_EQ(classic.elementBytes(Memory::Inp), 16u);
  EXPECT_EQ(classic.elementBytes(Memory::Wgt), 256u);
  EXPECT_EQ(classic.elementBytes(Memory::Acc), 64u);
  EXPECT_EQ(classic.elementBytes(Memory::Out), 16u);
}

TEST(VtaConfiguration, ReadsWhatItWrites) {
  for (const std::string &name : test::exampleNames()) {
    Configuration configuration = test::exampleConfiguration(name);
    EXPECT_EQ(Configuration::parse(configuration.json(), name), configuration);
  }
  EXPECT_EQ(test::exampleConfiguration("block32").block(), 32);
  EXPECT_EQ(test::exampleConfiguration("batch2").batch(), 2);
}

TEST(VtaConfiguration, RefusesWhatCannotBe) {
  EXPECT_CONTAINS(refusalOf("LOG_INP_BUFF_SIZE", 17),
                  "c.json: a micro-op takes 34 bits and has 32");
  EXPECT_CONTAINS(refusalOf("LOG_UOP_BUFF_SIZE", 16),
                  "first half of GEMM takes 65 bits and has 64");
  EXPECT_CONTAINS(refusalOf("LOG_WGT_BUFF_SIZE", 8),
                  "LOG_WGT_BUFF_SIZE: expected room for 2 elements of 256 bytes");
  EXPECT_CONTAINS(refusalOf("LOG_UOP_BUFF_SIZE", 20), "LOG_UOP_BUFF_SIZE: expected at most 65536");
  EXPECT_CONTAINS(refusalOf("LOG_ACC_WIDTH", 4),
                  "LOG_ACC_WIDTH: expected a number from 5 to 5, got 4");
  EXPECT_CONTAINS(refusalOf("LOG_BLOCK", "16"), "LOG_BLOCK: expected a number");
  EXPECT_CONTAINS(refusalOf("LOG_BLOCKS", 4), "there is no key 'LOG_BLOCKS'");
  EXPECT_CONTAINS(refusalOf("LOG_OUT_WIDTH", 5), "LOG_OUT_WIDTH: expected the width of inputs");
  // A 32-bit micro-op whose two low-precision fields leave no room for the ALU's other fields.
  Json json = Json::parse(Configuration().json());
  json["LOG_INP_BUFF_SIZE"] = 16;
  json["LOG_WGT_BUFF_SIZE"] = 17;
  EXPECT_CONTAINS(
      errorOf(ErrorKind::InvalidFile, [&] { Configuration::parse(json.dump(), "c.json"); }),
      "second half of ALU takes 66 bits and has 64");
}

TEST(VtaConfiguration, RefusesWhatIsNoConfiguration) {
  auto refusal = [](const char *text) {
    return errorOf(ErrorKind::InvalidFile, [&] { Configuration::parse(text, "c.json"); });
  };
  EXPECT_CONTAINS(refusal("{"), "c.json: expected JSON");
  EXPECT_CONTAINS(refusal("[]"), "expected an object");
  EXPECT_CONTAINS(refusal("{}"), "expected 'LOG_INP_WIDTH'");
}

} // namespace
} // namespace headrace::vta
