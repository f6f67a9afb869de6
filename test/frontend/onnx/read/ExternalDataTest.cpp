#include "ModelBuilder.h"
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::onnx::test {
namespace {

namespace fs = std::filesystem;

/// A directory with a model directory in it, and files inside and outside of that.
class ExternalDataTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::path(testing::TempDir()) / "headrace_external_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    outside = pattern;
    folder = outside / "model";
    fs::create_directories(folder / "sub");
    std::vector<float> data = {1, 2, 3, 4};
    for (const fs::path &path : {folder / "w.bin", folder / "sub" / "w.bin", outside / "secret"})
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char *>(data.data()), data.size() * sizeof(float));
  }
  void TearDown() override { fs::remove_all(outside); }

  using Entries = std::vector<std::pair<std::string, std::string>>;

  std::string external(const Entries &entries, const std::vector<int64_t> &dims = {4},
                       int type = Float) {
    return modelWithInitializer(tensor("w", type, dims, [&](auto &w) {
      for (const auto &[key, value] : entries)
        w.add_message(13, message([&, &key = key, &value = value](auto &e) {
                        e.add_string(1, key);
                        e.add_string(2, value);
                      }));
      w.add_enum(14, 1);
    }));
  }

  Tensor weight(const std::string &bytes) {
    return read(bytes, folder).graph.initializers.at(0).tensor;
  }

  void expectRefused(const Entries &entries, const std::string &text,
                     ErrorKind kind = ErrorKind::InvalidModel) {
    expectError(external(entries), kind, "initializer 'w'", folder);
    expectError(external(entries), kind, text, folder);
  }

  fs::path outside, folder;
};

TEST_F(ExternalDataTest, ReadsFilesBesideTheModel) {
  EXPECT_EQ(values<float>(weight(external({{"location", "w.bin"}}))),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(
      values<float>(weight(external(
          {{"location", "sub/w.bin"}, {"offset", "4"}, {"length", "8"}, {"checksum", "x"}}, {2}))),
      (std::vector<float>{2, 3}));
}

TEST_F(ExternalDataTest, ModelAndDataFromDisk) {
  std::string bytes = external({{"location", "w.bin"}, {"length", "16"}});
  std::ofstream(folder / "m.onnx", std::ios::binary) << bytes;
  EXPECT_EQ(values<float>(readModel(folder / "m.onnx").graph.initializers.at(0).tensor),
            (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ExternalDataTest, UnalignedDataIsCopied) {
  Tensor tensor = weight(external({{"location", "w.bin"}, {"offset", "2"}, {"length", "8"}}, {2}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % sizeof(float), 0u);
  std::vector<float> source = {1, 2, 3, 4};
  EXPECT_EQ(std::memcmp(tensor.data(), reinterpret_cast<char *>(source.data()) + 2, 8), 0);
}

TEST_F(ExternalDataTest, UnalignedSharingIsBounded) {
  GraphParts parts;
  for (int i = 0; i < 100; ++i)
    parts.initializers.push_back(tensor("w" + std::to_string(i), Float, {3}, [](auto &w) {
      for (auto [key, value] :
           {std::pair("location", "w.bin"), std::pair("offset", "2"), std::pair("length", "12")})
        w.add_message(13, message([&, key = key, value = value](auto &e) {
                        e.add_string(1, key);
                        e.add_string(2, value);
                      }));
      w.add_enum(14, 1);
    }));
  expectError(model(graph(parts)), ErrorKind::InvalidModel, "too many tensors", folder);
}

TEST_F(ExternalDataTest, NothingOutsideTheFolderIsRead) {
  std::string inside = "expected a path inside the model's directory";
  expectRefused({{"location", "../secret"}}, inside);
  expectRefused({{"location", "sub/../../secret"}}, inside);
  expectRefused({{"location", (outside / "secret").string()}}, inside);
  expectRefused({{"location", (folder / "w.bin").string()}}, inside);
  expectRefused({{"location", std::string("w.bin\0x", 7)}}, inside);
  expectRefused({{"location", ""}}, inside);
  expectRefused({}, inside);
}

TEST_F(ExternalDataTest, LinksMustStayInside) {
  fs::create_symlink(outside / "secret", folder / "out");
  fs::create_directory_symlink(outside, folder / "up");
  fs::create_symlink("sub/w.bin", folder / "in");
  expectRefused({{"location", "out"}}, "leads outside the model's directory");
  expectRefused({{"location", "up/secret"}}, "leads outside the model's directory");
  EXPECT_EQ(values<float>(weight(external({{"location", "in"}}))).size(), 4u);
}

TEST_F(ExternalDataTest, ASiblingFolderWithTheSamePrefixIsOutside) {
  fs::create_directory(outside / "model2");
  fs::copy_file(outside / "secret", outside / "model2" / "w.bin");
  fs::create_directory_symlink(outside / "model2", folder / "sibling");
  expectRefused({{"location", "sibling/w.bin"}}, "leads outside the model's directory");
}

TEST_F(ExternalDataTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expectRefused({{"location", "pipe"}}, "expected a regular file");
  expectRefused({{"location", "sub"}}, "expected a regular file");
  expectRefused({{"location", "absent.bin"}}, "'absent.bin'", ErrorKind::Io);
}

TEST_F(ExternalDataTest, RangesAreChecked) {
  auto at = [](const char *offset, const char *length) -> Entries {
    return {{"location", "w.bin"}, {"offset", offset}, {"length", length}};
  };
  expectRefused(at("4", "16"), "got a file of 16 bytes");
  expectRefused(at("17", "0"), "got a file of 16 bytes");
  expectRefused(at("18446744073709551615", "16"), "got a file of 16 bytes");
  expectRefused(at("8", "18446744073709551615"), "got a file of 16 bytes");
  expectRefused(at("0", "12"), "expected 4 elements");
  expectRefused(at("0", "15"), "expected 4 elements");
  expectRefused(at("-1", "16"), "expected a byte count as offset");
  expectRefused(at("0", "16x"), "expected a byte count as length");
  expectRefused(at("0", "99999999999999999999"), "expected a byte count as length");
  expectRefused({{"location", "w.bin"}, {"offset", "4"}}, "got 12 bytes");
}

TEST_F(ExternalDataTest, EmptyTensorsMayHaveEmptyFiles) {
  std::ofstream(folder / "empty.bin");
  EXPECT_EQ(weight(external({{"location", "empty.bin"}}, {0})).bytes(), 0u);
  expectRefused({{"location", "empty.bin"}}, "expected 4 elements");
}

TEST_F(ExternalDataTest, ABareModelInMemoryHasNoFolder) {
  expectError(external({{"location", "w.bin"}}), ErrorKind::Unsupported, "without a directory");
}

} // namespace
} // namespace headrace::onnx::test
