#include "package/ProgramJson.h"

#include "package/TestPackage.h"
#include "runtime/Helpers.h"

namespace headrace::test {
namespace {

Tensor findNothing(size_t, DType type, const Shape &shape) { return Tensor::allocate(type, shape); }

Program testProgram() { return testContents().programs[0].versions[0].program; }

Json testJson() {
  return programToJson(testProgram(), [](const Tensor &) { return size_t{0}; });
}

std::string fault(const Json &json) {
  try {
    programFromJson(json, findNothing);
  } catch (const JsonFault &fault) {
    return fault.what();
  }
  return "no fault";
}

/// The fault if the value at this place is another one.
std::string faultWith(const char *place, const Json &value) {
  Json json = testJson();
  json[Json::json_pointer(place)] = value;
  return fault(json);
}

TEST(ProgramJson, ProgramsComeBack) {
  Json json = testJson();
  Program again = programFromJson(json, findNothing);
  EXPECT_EQ(programToJson(again, [](const Tensor &) { return size_t{0}; }), json);
  EXPECT_EQ(again.buffers[1].bytes, DimExpr::symbol(0) * DimExpr::constant(4));
}

TEST(ProgramJson, NotesComeBack) {
  const PackagedVersion version = testContents().programs[0].versions[0];
  Json json = notesToJson(version.notes);
  EXPECT_EQ(notesToJson(notesFromJson(json, version.program)), json);
  json["steps"].erase(0);
  EXPECT_THROW(notesFromJson(json, version.program), JsonFault);
}

TEST(ProgramJson, WhatDoesNotFitIsRefused) {
  EXPECT_CONTAINS(faultWith("/buffers/0/index", 7), "has index 7 of 1");
  EXPECT_CONTAINS(faultWith("/buffers/1/last", 99), "lifetime outside the steps");
  EXPECT_CONTAINS(faultWith("/buffers/1/bytes", "s1"), "expected a size over 1 symbols");
  EXPECT_CONTAINS(faultWith("/buffers/1/kind", "heap"), "unknown kind 'heap'");
  EXPECT_CONTAINS(faultWith("/buffers/1/type", "f33"), "unknown type 'f33'");
  EXPECT_CONTAINS(faultWith("/steps/0/operands/0", 99), "uses buffer 99 of 5");
  EXPECT_CONTAINS(faultWith("/steps/0/operands/0", -1), "expected a number from 0");
  EXPECT_CONTAINS(faultWith("/steps/0/operands/0", 0.5), "expected a number from 0");
  EXPECT_CONTAINS(faultWith("/steps/0/workspace", 1e30), "expected a number from 0");
  EXPECT_CONTAINS(faultWith("/steps/0/name", 3), "expected a text");
  EXPECT_CONTAINS(faultWith("/steps", 3), "expected a list 'steps'");
  EXPECT_CONTAINS(faultWith("/inputs/0/dims/0", 3), "no input determines symbol 'n'");
  EXPECT_CONTAINS(faultWith("/constants/0/shape/0", uint64_t{1} << 63), "expected a number");
  Json json = testJson();
  json.erase("outputs");
  EXPECT_CONTAINS(fault(json), "expected 'outputs'");
  EXPECT_CONTAINS(fault(Json::array()), "expected 'name'");
}

} // namespace
} // namespace headrace::test
