#include "runtime/Helpers.h"
#include "runtime/program/Programs.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/MappedFile.h"
#include "runtime/tensor/Npy.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/stat.h>
#include <sys/wait.h>

namespace headrace {
namespace {

using namespace test;
namespace fs = std::filesystem;

void writeText(const fs::path &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string readText(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// An npy file around any header; the data is appended as is.
std::string npyFile(int major, const std::string &header, const std::string &data) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(major);
  text += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    text += static_cast<char>(header.size() >> (8 * i));
  return text + header + data;
}

template <class T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

std::string headerOf(const std::string &descr, const std::string &order, const std::string &shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(MappedFile, GivesTheBytes) {
  TemporaryFolder folder;
  writeText(folder / "a", "hello");
  auto file = MappedFile::open(folder / "a");
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(file->data()), file->size()), "hello");
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  TemporaryFolder folder;
  writeText(folder / "empty", "");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(errorOf(ErrorKind::Io, [&] { MappedFile::open(folder / "none"); }), "none");
  EXPECT_CONTAINS(errorOf(ErrorKind::Io, [&] { MappedFile::open(folder.path); }), "directory");
  EXPECT_CONTAINS(errorOf(ErrorKind::InvalidFile, [&] { MappedFile::open(folder / "empty"); }),
                  "empty");
  EXPECT_CONTAINS(errorOf(ErrorKind::Io, [&] { MappedFile::open(folder / "pipe"); }), "regular");
}

TEST(MappedFile, ACopyOutlivesItsFile) {
  TemporaryFolder folder;
  std::ofstream(folder / "a") << std::string(10000, 'x');
  auto file = MappedFile::open(folder / "a");
  fs::resize_file(folder / "a", 1);
  file->requireUnchanged();
  EXPECT_EQ(file->data()[9999], std::byte{'x'});
  EXPECT_EQ(MappedFile::holding(file->data()), nullptr);
}

// Instead of the end of the process, or of other results.
TEST(MappedFile, AChangeOfAMappedFileIsNoticed) {
  TemporaryFolder folder;
  auto write = [&](const std::string &text) { std::ofstream(folder / "a") << text; };
  auto change = [&](const std::function<void()> &action) {
    write(std::string(10000, 'x'));
    fs::last_write_time(folder / "a", fs::file_time_type::clock::now() - std::chrono::hours(1));
    auto file = MappedFile::open(folder / "a", /*copyUpTo=*/100);
    EXPECT_EQ(MappedFile::holding(file->data() + 9999), file);
    file->requireUnchanged();
    action();
    return file;
  };
  auto refusal = [&](const std::function<void()> &action) {
    return errorOf(ErrorKind::Io, [&] { change(action)->requireUnchanged(); });
  };
  EXPECT_CONTAINS(refusal([&] { fs::resize_file(folder / "a", 1); }),
                  (folder / "a").string() + ": the file was changed while it was in use");
  EXPECT_CONTAINS(refusal([&] { write(std::string(10000, 'y')); }), "was changed");
  // One that takes its place, or its name, does not matter.
  change([&] {
    std::ofstream(folder / "b") << "other";
    fs::rename(folder / "b", folder / "a");
  })->requireUnchanged();
  change([&] { fs::remove(folder / "a"); })->requireUnchanged();
}

TEST(MappedFile, ProgramsNoticeAChangeOfTheirConstants) {
  TemporaryFolder folder;
  Program program = chainProgram();
  auto write = [&](float value) {
    std::vector<float> values(4, value);
    std::ofstream(folder / "w").write(reinterpret_cast<const char *>(values.data()), 16);
  };
  write(2);
  fs::last_write_time(folder / "w", fs::file_time_type::clock::now() - std::chrono::hours(1));
  auto file = MappedFile::open(folder / "w", /*copyUpTo=*/0);
  program.constants = {Tensor::borrow(DType::F32, {4}, file->data(), file)};
  program.buffers.push_back(buffer(BufferInfo::Kind::Constant, 0, number(16)));
  program.steps[2].operands[1] = 5;
  Executable executable(program, ProgramCode{{addOne, addOne, multiply, addOne}, {}, nullptr});
  Tensor x = floats({4}, {0, 1, 2, 3});
  EXPECT_EQ(valuesOf<float>(executable.run({&x, 1})[0]), (std::vector<float>{2, 4, 6, 8}));
  write(3);
  EXPECT_CONTAINS(errorOf(ErrorKind::Io, [&] { executable.run({&x, 1}); }), "/w: the file was");
}

TEST(Npy, EveryTypeAndRankSurvives) {
  TemporaryFolder folder;
  for (int i = 0; i <= static_cast<int>(DType::F64); ++i)
    for (const Shape &shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}}) {
      Tensor tensor = Tensor::allocate(static_cast<DType>(i), shape);
      for (size_t b = 0; b < tensor.bytes(); ++b)
        static_cast<unsigned char *>(tensor.data())[b] = i == 0 ? b % 2 : b;
      writeNpy(folder / "t.npy", tensor);
      Tensor back = readNpy(folder / "t.npy");
      EXPECT_EQ(back.dtype(), tensor.dtype());
      EXPECT_EQ(back.shape(), shape);
      EXPECT_EQ(std::memcmp(back.data(), tensor.data(), tensor.bytes()), 0);
    }
}

TEST(Npy, WritesWhatNumpyWrites) {
  TemporaryFolder folder;
  writeNpy(folder / "t.npy", floats({2}, {1, 2}));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  header.append(117 - header.size(), ' ');
  EXPECT_EQ(readText(folder / "t.npy"),
            npyFile(1, header + "\n", bytesOf(std::vector<float>{1, 2})));
}

TEST(Npy, ReadsAllFormatsAndFortranOrder) {
  TemporaryFolder folder;
  std::string data = bytesOf(std::vector<int32_t>{0, 3, 1, 4, 2, 5});
  for (int major : {1, 2, 3}) {
    writeText(folder / "t.npy", npyFile(major, headerOf("<i4", "True", "(2, 3)"), data));
    Tensor tensor = readNpy(folder / "t.npy");
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    EXPECT_EQ(valuesOf<int32_t>(tensor), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  }
}

TEST(Npy, BooleansAreZeroOrOne) {
  TemporaryFolder folder;
  writeText(folder / "t.npy", npyFile(1, headerOf("|b1", "False", "(2,)"), {'\0', '\7'}));
  EXPECT_EQ(valuesOf<uint8_t>(readNpy(folder / "t.npy")), (std::vector<uint8_t>{0, 1}));
}

struct BadFile {
  const char *name;
  std::string content;
  ErrorKind kind;
  const char *message;
};

class BadNpy : public testing::TestWithParam<BadFile> {};

TEST_P(BadNpy, IsRefusedWithItsNameAndReason) {
  TemporaryFolder folder;
  fs::path path = folder / "bad.npy";
  writeText(path, GetParam().content);
  std::string message = errorOf(GetParam().kind, [&] { readNpy(path); });
  EXPECT_CONTAINS(message, path.string());
  EXPECT_CONTAINS(message, GetParam().message);
  EXPECT_FALSE(contains(message, "\n"));
}

const std::string good = headerOf("<f4", "False", "(2,)");
const ErrorKind invalid = ErrorKind::InvalidFile, unsupported = ErrorKind::Unsupported;

INSTANTIATE_TEST_SUITE_P(
    Npy, BadNpy,
    testing::Values(
        BadFile{"Magic", "PK\3\4 something else", invalid, "begins with"},
        BadFile{"Preamble", "\x93NUMPY\x01", invalid, "preamble"},
        BadFile{"Version", npyFile(9, good, ""), invalid, "got 9"},
        BadFile{"HeaderCut", npyFile(1, good, "").substr(0, 30), invalid, "in its header"},
        BadFile{"HeaderHuge", npyFile(2, std::string(100'000, ' '), ""), invalid, "at most"},
        BadFile{"DataCut", npyFile(1, good, "1234567"), invalid, "expected 8 bytes"},
        BadFile{"Vast", npyFile(1, headerOf("<f4", "False", "(1000000000, 1000000000)"), ""),
                invalid, "truncated"},
        BadFile{"BigEndian", npyFile(1, headerOf(">f4", "False", "(2,)"), "12345678"), unsupported,
                ">f4"},
        BadFile{"Text", npyFile(1, headerOf("<U4", "False", "(2,)"), ""), unsupported, "<U4"},
        BadFile{"Objects", npyFile(1, headerOf("|O", "False", "(2,)"), ""), unsupported, "|O"},
        BadFile{"Structured",
                npyFile(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", ""),
                unsupported, "structured"},
        BadFile{"Negative", npyFile(1, headerOf("<f4", "False", "(-2,)"), ""), invalid,
                "0 or more"},
        BadFile{"NoShape", npyFile(1, "{'descr': '<f4', 'fortran_order': False}", ""), invalid,
                "'shape'"},
        BadFile{"Twice", npyFile(1, "{'descr': '<f4', 'descr': '<f4'}", ""), invalid, "descr"},
        BadFile{"Open", npyFile(1, "{'descr': '<f4", ""), invalid, "does not end"},
        BadFile{"After", npyFile(1, good + "x", "12345678"), invalid, "after"},
        BadFile{"Ranks",
                npyFile(1,
                        headerOf(
                            "<f4", "False",
                            "(" +
                                [] {
                                  std::string ones;
                                  for (int i = 0; i < 70; ++i)
                                    ones += "1,";
                                  return ones;
                                }() +
                                ")"),
                        "1234"),
                invalid, "dimensions"}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(Npy, OverflowingShapeIsRefused) {
  TemporaryFolder folder;
  writeText(folder / "t.npy",
            npyFile(1, headerOf("<f8", "False", "(4611686018427387904, 4611686018427387904)"), ""));
  errorOf(ErrorKind::InvalidArgument, [&] { readNpy(folder / "t.npy"); });
}

TEST(Npy, WritingReplacesTheFileOrLeavesNothing) {
  TemporaryFolder folder;
  writeText(folder / "t.npy", "old");
  fs::create_symlink(folder / "t.npy", folder / "link.npy");
  writeNpy(folder / "link.npy", floats({1}, {4}));
  EXPECT_TRUE(fs::is_symlink(folder / "link.npy"));
  EXPECT_EQ(valuesOf<float>(readNpy(folder / "t.npy")), std::vector<float>{4});
  EXPECT_CONTAINS(
      errorOf(ErrorKind::Io, [&] { writeNpy(folder / "none" / "t.npy", floats({1}, {4})); }),
      "none/t.npy");
  fs::create_directory(folder / "folder");
  errorOf(ErrorKind::Io, [&] { writeNpy(folder / "folder", floats({1}, {4})); });
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 3);
}

TEST(AtomicFile, AKilledProcessLeavesTheOldFileAndNothingElse) {
  TemporaryFolder folder;
  writeText(folder / "a", "old");
  pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "a");
    file.write("new");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(readText(folder / "a"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);
}

TEST(AtomicFile, TakesThePlaceOfTheOldFile) {
  TemporaryFolder folder;
  writeText(folder / "a", "old");
  AtomicFile file(folder / "a");
  file.write("ne");
  file.write("w");
  EXPECT_EQ(readText(folder / "a"), "old");
  file.putInPlace();
  EXPECT_EQ(readText(folder / "a"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);
}

} // namespace
} // namespace headrace
