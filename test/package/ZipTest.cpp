#include "package/Zip.h"

#include "package/TestPackage.h"
#include "runtime/Helpers.h"

#include <cstring>

namespace headrace::test {
namespace {

Bytes bytesOf(const std::string &text) { return std::as_bytes(std::span(text)); }

std::string textOf(Bytes bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// An archive of two files, as text to be changed.
std::string archive() {
  TemporaryFolder folder;
  std::string first = "hello", second(5000, 'x');
  ZipWriter writer;
  writer.add("first.txt", {bytesOf(first)});
  writer.add("deep/second.bin", {bytesOf(second), bytesOf(first)});
  writer.write(folder / "a.zip");
  return textOf(readBytes(folder / "a.zip"));
}

std::string refusal(const std::string &text) {
  return errorOf(ErrorKind::InvalidFile, [&] {
    ZipReader reader(bytesOf(text), "a.zip");
    reader.checkedFile("first.txt");
  });
}

std::string replaced(std::string text, const std::string &what, const std::string &with) {
  EXPECT_EQ(what.size(), with.size());
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    text.replace(at, what.size(), with);
  return text;
}

TEST(Zip, FilesComeBackFromWholePages) {
  std::string text = archive();
  ZipReader reader(bytesOf(text), "a.zip");
  EXPECT_EQ(textOf(reader.checkedFile("first.txt")), "hello");
  EXPECT_EQ(textOf(reader.checkedFile("deep/second.bin")), std::string(5000, 'x') + "hello");
  for (const char *name : {"first.txt", "deep/second.bin"})
    EXPECT_EQ((reinterpret_cast<const char *>(reader.file(name).data()) - text.data()) % 4096, 0);
}

TEST(Zip, ChecksumIsTheStandardOne) { EXPECT_EQ(crc32(bytesOf("123456789")), 0xcbf43926u); }

TEST(Zip, EveryTruncationIsRefused) {
  std::string text = archive();
  for (size_t length = 0; length < text.size(); length += length < 64 ? 1 : 97)
    EXPECT_CONTAINS(refusal(text.substr(0, length)), "a.zip: ");
}

TEST(Zip, NamesThatLeaveTheFolderAreRefused) {
  for (const char *name :
       {"../st.txt", "/irst.txt", "a/../.txt", "a\\..\\.txt", "first.tx\n", "a//b.text"})
    EXPECT_CONTAINS(refusal(replaced(archive(), "first.txt", name)),
                    "expected plain names of files in the package");
}

TEST(Zip, TwoFilesOfOneNameAreRefused) {
  TemporaryFolder folder;
  ZipWriter writer;
  writer.add("a", {});
  writer.add("a", {});
  writer.write(folder / "a.zip");
  EXPECT_CONTAINS(refusal(textOf(readBytes(folder / "a.zip"))), "two files 'a'");
}

TEST(Zip, TooManyFilesAreRefused) {
  TemporaryFolder folder;
  ZipWriter writer;
  for (size_t i = 0; i <= maxZipFiles; ++i)
    writer.add(std::to_string(i), {});
  writer.write(folder / "a.zip");
  EXPECT_CONTAINS(refusal(textOf(readBytes(folder / "a.zip"))), "at most 1024 files");
}

/// Changes the number at `offset` of the first file's records: in its header, then in the
/// directory.
std::string changed(std::string text, size_t local, size_t central, uint32_t value, size_t width) {
  size_t directory = text.find("PK\x01\x02");
  std::memcpy(text.data() + local, &value, width);
  std::memcpy(text.data() + directory + central, &value, width);
  return text;
}

TEST(Zip, CompressedFilesAreRefused) {
  EXPECT_CONTAINS(refusal(changed(archive(), 8, 10, 8, 2)), "'first.txt' is compressed");
}

TEST(Zip, SizesBeyondTheArchiveAreRefused) {
  std::string text = changed(archive(), 18, 20, 0xfffffff0, 4);
  EXPECT_CONTAINS(refusal(changed(text, 22, 24, 0xfffffff0, 4)), "does not fit");
}

TEST(Zip, OverlappingFilesAreRefused) {
  std::string text = changed(archive(), 18, 20, 6000, 4);
  EXPECT_CONTAINS(refusal(changed(text, 22, 24, 6000, 4)), "overlap");
}

TEST(Zip, DamagedContentIsRefused) {
  std::string text = archive();
  text[text.find("hello")] = 'j';
  EXPECT_CONTAINS(refusal(text), "the checksum of 'first.txt' differs");
}

TEST(Zip, SomethingElseIsRefused) {
  EXPECT_CONTAINS(refusal(std::string(100, 'z')), "its end is missing");
  EXPECT_CONTAINS(refusal("tiny"), "got a file of 4 bytes");
}

} // namespace
} // namespace headrace::test
