// The store of results: by kernel and machine, shared by processes, with lines that do not hold.
#include "runtime/system/Error.h"

#include "tune/store/TunedStore.h"
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

namespace headrace::tune {
namespace {

namespace fs = std::filesystem;

fs::path fileNamed(const char *name) {
  fs::path path = fs::path(testing::TempDir()) / name;
  fs::remove(path);
  return path;
}

TunedRecord recordOf(const std::string &kernel, const std::string &machine, int64_t rows) {
  return {kernel,  "anchor of " + kernel,
          machine, generatorVersion,
          "conv1", {{"tiles", {{"rows", rows}, {"columns", 32}}}},
          1.5,     2.5};
}

TEST(TunedStore, HasTheRecordOfAKernelAndMachine) {
  fs::path path = fileNamed("tuned.jsonl");
  changeStore(path, std::vector{recordOf("a", "here", 4), recordOf("a", "there", 6)});
  changeStore(path, std::vector{recordOf("b", "here", 8), recordOf("a", "here", 2)});
  TunedStore store(path);
  EXPECT_EQ(store.all().size(), 3u);
  EXPECT_EQ(store.find("a", "here")->schedules.front().text(), "tiles rows=2 columns=32");
  EXPECT_EQ(store.find("b", "there"), nullptr);
  EXPECT_EQ(store.otherMachine("b", "there"), "here");
  EXPECT_EQ(store.otherMachine("c", "there"), "");
  EXPECT_TRUE(store.hasAnchor("anchor of b"));
  EXPECT_FALSE(store.hasAnchor("anchor of c"));
}

TEST(TunedStore, LeavesOutDamagedLinesAndOtherGenerators) {
  fs::path path = fileNamed("damaged-store.jsonl");
  TunedRecord older = recordOf("a", "here", 4);
  older.generator = generatorVersion + 1;
  std::ofstream(path) << "nonsense\n"
                      << toJson(older).dump() << "\n"
                      << R"({"kernel":"k","anchor":"x","machine":"m","generator":1,"name":"n",)"
                      << R"("schedules":[],"us":1,"default_us":2})"
                      << "\n"
                      << toJson(recordOf("b", "here", 4)).dump() << "\n{\"kernel\"";
  TunedStore store(path);
  EXPECT_EQ(store.find("a", "here"), nullptr);
  ASSERT_NE(store.find("b", "here"), nullptr);
  ASSERT_EQ(store.faults().size(), 3u);
  EXPECT_EQ(store.faults()[1], "line 3: expected 1 to 64 schedules, got 0");
}

TEST(TunedStore, DropsWhatIsAsked) {
  fs::path path = fileNamed("dropped.jsonl");
  changeStore(path, std::vector{recordOf("a", "here", 4), recordOf("b", "here", 6)});
  changeStore(path, {}, [](const TunedRecord &record) { return record.kernel == "a"; });
  EXPECT_EQ(TunedStore(path).find("a", "here"), nullptr);
  EXPECT_NE(TunedStore(path).find("b", "here"), nullptr);
}

TEST(TunedStore, LosesNothingOfSeveralWriters) {
  fs::path path = fileNamed("shared.jsonl");
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 10; ++i)
        changeStore(path, std::vector{recordOf(std::to_string(10 * writer + i), "here", 4)});
    });
  for (std::thread &writer : writers)
    writer.join();
  EXPECT_EQ(TunedStore(path).all().size(), 40u);
}

TEST(TunedStore, IsReadAgainOnceItHasChanged) {
  fs::path path = fileNamed("changed.jsonl");
  EXPECT_EQ(TunedStore::of("never"), nullptr);
  EXPECT_THROW(TunedStore::of(path.string()), Error);
  changeStore(path, std::vector{recordOf("a", "here", 4)});
  auto first = TunedStore::of(path.string());
  EXPECT_EQ(first, TunedStore::of(path.string()));
  changeStore(path, std::vector{recordOf("b", "here", 4)});
  EXPECT_NE(TunedStore::of(path.string())->find("b", "here"), nullptr);
  EXPECT_EQ(first->find("b", "here"), nullptr);
}

} // namespace
} // namespace headrace::tune
