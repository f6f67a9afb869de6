#include "runtime/system/BuildId.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

const int kHere = 1;

TEST(BuildId, IsThatOfTheFileThatHoldsTheAddress) {
  std::string id = buildId(&kHere, {});
  EXPECT_GE(id.size(), 8u);
  EXPECT_EQ(buildId(&kHere, {"no such library"}), id);
}

TEST(BuildId, NamesLibrariesToo) {
  std::string here = buildId(&kHere, {}), both = buildId(&kHere, {"libc.so"});
  EXPECT_GT(both.size(), here.size());
  EXPECT_NE(both.find(here), std::string::npos);
}

TEST(BuildId, IsEmptyWhereNoFileHoldsTheAddress) { EXPECT_EQ(buildId(nullptr, {}), ""); }

} // namespace
} // namespace headrace
