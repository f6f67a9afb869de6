#include "runtime/system/Error.h"

#include "schedule/Schedule.h"
#include <gtest/gtest.h>

namespace headrace {
namespace {

const ScheduleRecord tiles{"tiles", {{"rows", 6}, {"columns", 32}}};

TEST(RecordTest, TextIsThatOfRecipes) {
  EXPECT_EQ(tiles.text(), "tiles rows=6 columns=32");
  EXPECT_EQ(ScheduleRecord({"transposed", {}}).text(), "transposed");
}

TEST(RecordTest, ParametersAreFoundAndSetByName) {
  ScheduleRecord other = tiles;
  other.set("rows", 14);
  EXPECT_EQ(other.find("rows"), 14);
  EXPECT_FALSE(other.has("cells"));
  EXPECT_NE(other, tiles);
  EXPECT_THROW(other.set("cells", 1), InternalError);
}

TEST(RecordTest, HashesAreTheSameInEveryProcess) {
  EXPECT_EQ(tiles.hash(), ScheduleRecord(tiles).hash());
  EXPECT_EQ(ScheduleRecord({"a", {}}).hash(), 0xaf63dc4c8601ec8cu); // FNV-1a of "a"
  ScheduleRecord other = tiles;
  other.set("columns", 16);
  EXPECT_NE(other.hash(), tiles.hash());
}

TEST(RecordTest, DistanceCountsDoublingsAndKinds) {
  ScheduleRecord near = tiles, far = tiles, other{"plain", {{"cells", 16}}};
  near.set("rows", 7);
  far.set("rows", 13); // 1 + 13 is twice 1 + 6
  EXPECT_EQ(distanceBetween(tiles, tiles), 0);
  EXPECT_LT(distanceBetween(tiles, near), distanceBetween(tiles, far));
  EXPECT_DOUBLE_EQ(distanceBetween(tiles, far), 1);
  EXPECT_GT(distanceBetween(tiles, other), 60);
  EXPECT_EQ(distanceBetween(tiles, other), distanceBetween(other, tiles));
}

} // namespace
} // namespace headrace
