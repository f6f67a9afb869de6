#include "schedule/Space.h"

#include <gtest/gtest.h>
#include <set>

namespace headrace {
namespace {

/// Tiles of at most 8 elements, or plain loops.
class SmallSpace final : public ScheduleSpace {
public:
  std::string stage() const override { return "y"; }
  ScheduleRecord proposed() const override { return {"tiles", {{"rows", 2}, {"columns", 2}}}; }
  std::vector<ScheduleRecord> otherKinds() const override { return {{"plain", {{"cells", 4}}}}; }
  std::vector<int64_t> domainOf(const ScheduleRecord &schedule,
                                std::string_view parameter) const override {
    std::vector<int64_t> domain;
    for (int64_t value : {1, 2, 4, 8}) {
      ScheduleRecord other = schedule;
      other.set(parameter, value);
      if (unsupportedReason(other).empty())
        domain.push_back(value);
    }
    return domain;
  }
  std::string unsupportedReason(const ScheduleRecord &schedule) const override {
    bool isTiles = schedule.kind == "tiles";
    return isTiles && *schedule.find("rows") * *schedule.find("columns") > 8
               ? "rows: expected a tile of at most 8 elements"
               : "";
  }
};

TEST(SpaceTest, AlternativesDifferInOneParameterOrTheKind) {
  std::vector<std::string> texts;
  SmallSpace space;
  for (const ScheduleRecord &schedule : space.alternatives())
    texts.push_back(space.recipe(schedule));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"y: tiles rows=1 columns=2", "y: tiles rows=4 columns=2",
                                      "y: tiles rows=2 columns=1", "y: tiles rows=2 columns=4",
                                      "y: plain cells=4"}));
}

TEST(SpaceTest, EnumerationFindsEveryLegalScheduleOnce) {
  SmallSpace space;
  std::set<std::string> texts;
  // From rows=1: columns 1 to 8; from 2: 1 to 4; from 4: 1 and 2; 4 plain ones. Rows of 8 are not
  // in the domain beside two columns.
  std::vector<ScheduleRecord> all = enumerated(space, 100);
  for (const ScheduleRecord &schedule : all) {
    EXPECT_EQ(space.unsupportedReason(schedule), "");
    texts.insert(schedule.text());
  }
  EXPECT_EQ(all.size(), 13u);
  EXPECT_EQ(texts.size(), all.size());
  EXPECT_EQ(enumerated(space, 3).size(), 3u);
}

TEST(SpaceTest, SamplesAreLegalDistinctAndTheSameForASeed) {
  SmallSpace space;
  std::vector<ScheduleRecord> some = sampled(space, 6, 1);
  EXPECT_EQ(some.size(), 6u);
  std::set<std::string> texts;
  for (const ScheduleRecord &schedule : some) {
    EXPECT_EQ(space.unsupportedReason(schedule), "");
    texts.insert(schedule.text());
  }
  EXPECT_EQ(texts.size(), some.size());
  EXPECT_EQ(sampled(space, 6, 1), some);
  // A small space ends.
  EXPECT_LE(sampled(space, 1000, 2).size(), 14u);
}

} // namespace
} // namespace headrace
