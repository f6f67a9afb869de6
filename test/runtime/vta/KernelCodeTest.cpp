// Code of kernels as text: the same again, and rejected if it is damaged.
#include "runtime/vta/KernelCode.h"

#include "runtime/system/Json.h"

#include <gtest/gtest.h>
#include <random>

namespace headrace::vta {
namespace {

KernelCode example() {
  KernelCode code;
  code.program = readProgram(std::filesystem::path(HEADRACE_EXAMPLES) / "vta" / "convolution");
  for (Role role : {Role::Input, Role::Output})
    for (size_t i = 0; i < code.program.buffers.size(); ++i)
      if (code.program.buffers[i].role == role)
        code.operands.push_back(i);
  return code;
}

TEST(KernelCode, is_the_same_after_it_was_text_but_for_values_of_inputs) {
  KernelCode code = example(), again = kernelCodeOf(toText(code));
  EXPECT_EQ(again.operands, code.operands);
  EXPECT_EQ(again.program.instructions, code.program.instructions);
  EXPECT_EQ(again.program.microOps, code.program.microOps);
  EXPECT_EQ(again.program.microOpOffset, code.program.microOpOffset);
  EXPECT_EQ(again.program.dram.size(), code.program.dram.size());
  for (const Buffer &buffer : code.program.buffers)
    if (buffer.role == Role::Weight) {
      EXPECT_TRUE(std::ranges::equal(code.program.bytesOf(buffer), again.program.bytesOf(buffer)));
    }
  EXPECT_EQ(toText(again), toText(code));
}

/// The fault of code of which one thing was changed.
std::string faultOf(const std::function<void(Json &)> &change) {
  Json json = Json::parse(toText(example()));
  change(json);
  try {
    (void)kernelCodeOf(json.dump());
  } catch (const JsonFault &fault) {
    return fault.what();
  }
  return "";
}

TEST(KernelCode, names_what_is_wrong_with_it) {
  auto has = [](const std::string &fault, const char *words) {
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  };
  has(faultOf([](Json &j) { j.erase("operands"); }), "'operands'");
  has(faultOf([](Json &j) { j["operands"] = {1000}; }), "expected a number from 0");
  has(faultOf([](Json &j) { j["operands"] = Json::array(); }), "last is an output");
  has(faultOf([](Json &j) { j["instructions"] = "AAA"; }), "base64");
  has(faultOf([](Json &j) { j["instructions"] = "AA=A"; }), "base64");
  has(faultOf([](Json &j) { j["instructions"] = "AAAA"; }), "whole elements");
  has(faultOf([](Json &j) { j["configuration"]["LOG_BLOCK"] = 40; }), "LOG_BLOCK");
  has(faultOf([](Json &j) { j["dram"] = 1 << 30; }), "bytes of DRAM");
  has(faultOf([](Json &j) { j["dram"] = 8; }), "expected a number from 0");
  has(faultOf([](Json &j) { j["weights"].erase(0); }), "every buffer");
  has(faultOf([](Json &j) { j["description"]["micro_ops"]["offset"] = -1; }), "expected a number");
}

TEST(KernelCode, damaged_text_is_refused_or_is_code) {
  std::string text = toText(example());
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::string damaged = text;
    for (int n = 0; n < 3; ++n)
      damaged[random() % damaged.size()] = static_cast<char>(32 + random() % 96);
    try {
      (void)kernelCodeOf(damaged);
    } catch (const JsonFault &) {
    }
  }
}

} // namespace
} // namespace headrace::vta
