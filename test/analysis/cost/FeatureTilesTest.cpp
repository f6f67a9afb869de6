#include "analysis/cost/FeatureTiles.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

FeatureTiles wide(int64_t features) { return {.features = features, .lanes = 16, .registers = 32}; }

TEST(FeatureTilesTest, TwoVectorsWhereTheyDivide) {
  EXPECT_EQ(wide(512).propose(), 32);
  EXPECT_EQ(wide(48).propose(), 16);
  EXPECT_EQ((FeatureTiles{.features = 512, .lanes = 8, .registers = 16}.propose()), 16);
}

TEST(FeatureTilesTest, WeightsOfATileStayInTheCoresCache) {
  FeatureTiles tiles = wide(256);
  tiles.columnBytes = 6912 * 4; // 3x3x3 of 256 channels
  EXPECT_EQ(tiles.propose(), 32);
  tiles.cacheBytes = 1 << 20;
  EXPECT_EQ(tiles.propose(), 16);
  // If those of one vector do not stay either, two share each broadcast.
  tiles.columnBytes *= 4;
  EXPECT_EQ(tiles.propose(), 32);
}

TEST(FeatureTilesTest, FewFeaturesAreOneTile) {
  for (int64_t features : {1, 3, 10, 17, 24, 31})
    EXPECT_EQ(wide(features).propose(), features);
}

TEST(FeatureTilesTest, WholeVectorsAndARestWhereNoneDivides) {
  EXPECT_EQ(wide(120).propose(), 30);
  EXPECT_EQ(wide(40).propose(), 40);
  EXPECT_EQ(wide(37).propose(), 37);
  EXPECT_EQ((FeatureTiles{.features = 20, .lanes = 8, .registers = 32}.propose()), 20);
}

TEST(FeatureTilesTest, RowsLeaveRegistersForWhatTheyAreComputedFrom) {
  EXPECT_EQ(FeatureTiles::maxRows(32, 16, 32), 14);
  EXPECT_EQ(FeatureTiles::maxRows(32, 16, 30), 13);
  EXPECT_EQ(FeatureTiles::maxRows(32, 16, 40), 8);
  EXPECT_EQ(FeatureTiles::maxRows(16, 8, 16), 6);
}

TEST(FeatureTilesTest, ManyFeaturesThatNoVectorDividesAreNotPacked) {
  EXPECT_EQ(wide(202).propose(), 0); // twice a prime
  EXPECT_EQ(wide(1001).propose(), 0);
}

TEST(FeatureTilesTest, FewRowsTakeMoreVectorsSoThatSumsDoNotWait) {
  FeatureTiles two = wide(512);
  two.rows = 2;
  EXPECT_EQ(two.propose(), 64);
  two.rows = 4;
  EXPECT_EQ(two.propose(), 32);
}

TEST(FeatureTilesTest, FullVectorsAndARestWhereThoseAreFewer) {
  EXPECT_TRUE(
      wide(200).restPays()); // six times two vectors and half of one: not sixteen of tiles of 50
  EXPECT_TRUE(wide(104).restPays());
  EXPECT_FALSE(wide(40).restPays()); // one tile of 40 is three vectors, too
  EXPECT_FALSE(wide(88).restPays()); // and two of 44 are six
  EXPECT_TRUE(wide(202).restPays());
  EXPECT_FALSE(wide(120).restPays()); // four tiles of 30 are as few
  EXPECT_FALSE(wide(24).restPays());
  EXPECT_FALSE(wide(512).restPays());
  EXPECT_FALSE(wide(48).restPays());
  FeatureTiles single = wide(200);
  single.rows = 1; // is computed for several tiles at once
  EXPECT_FALSE(single.restPays());
}

TEST(FeatureTilesTest, EveryProposalIsLegal) {
  for (int64_t features = 1; features <= 300; ++features)
    for (int64_t rows : {1, 2, 3, 8, 1000}) {
      FeatureTiles tiles = wide(features);
      tiles.rows = rows;
      if (int64_t tile = tiles.propose())
        EXPECT_EQ(tiles.refusalOf(tile), "") << features;
    }
}

TEST(FeatureTilesTest, RefusalsGiveTheReason) {
  EXPECT_EQ(wide(16).refusalOf(7), "there are 16 columns, which is not a multiple");
  EXPECT_EQ(wide(16).refusalOf(0), "there are 16 columns, which is not a multiple");
  EXPECT_EQ(wide(16).refusalOf(16), "");
}

} // namespace
} // namespace headrace
