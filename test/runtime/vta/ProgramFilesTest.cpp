// Programs as directories of files: read back as they were, and rejected if they are damaged.
#include "runtime/Helpers.h"
#include "runtime/vta/Programs.h"
#include "runtime/vta/Simulator.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

namespace headrace::vta {
namespace {

using namespace test;
using headrace::test::errorOf;
using headrace::test::TemporaryFolder;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string contentOf(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void put(const fs::path &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST(VtaProgramFiles, ReadAsTheyWereWritten) {
  for (const std::string &name : exampleNames()) {
    TemporaryFolder folder;
    Program program =
        convolutionProgram(exampleConfiguration(name), {7, 64, 64, 3, 1, 2, 1, true, true, true})
            .program;
    program.steps.push_back({true, 0, 0, "softmax"});
    writeProgram(program, folder.path);
    Program read = readProgram(folder.path);
    EXPECT_EQ(read.configuration, program.configuration);
    EXPECT_EQ(read.instructions, program.instructions);
    EXPECT_EQ(read.microOps, program.microOps);
    EXPECT_EQ(read.dram, program.dram);
    ASSERT_EQ(read.steps.size(), 2u);
    EXPECT_EQ(read.steps[0].end, program.instructions.size());
    EXPECT_EQ(read.steps[1].host, "softmax");
    ASSERT_EQ(read.buffers.size(), program.buffers.size());
    for (size_t i = 0; i < read.buffers.size(); ++i) {
      EXPECT_EQ(read.buffers[i].name, program.buffers[i].name);
      EXPECT_EQ(read.buffers[i].offset, program.buffers[i].offset);
      EXPECT_EQ(read.buffers[i].layout, program.buffers[i].layout);
      EXPECT_EQ(read.buffers[i].shape, program.buffers[i].shape);
      EXPECT_EQ(read.buffers[i].role, program.buffers[i].role);
    }
    TemporaryFolder again;
    writeProgram(read, again.path);
    for (const char *file : {"insn.bin", "uop.bin", "dram.bin", "buffers.json", "config.json"})
      EXPECT_EQ(contentOf(folder / file), contentOf(again / file)) << file;
    EXPECT_EQ(contentOf(folder / "insn.bin").size(), 16 * program.instructions.size());
    EXPECT_EQ(contentOf(folder / "uop.bin").size(), 4 * program.microOps.size());
  }
}

class VtaDamagedFiles : public testing::Test {
protected:
  VtaDamagedFiles() {
    writeProgram(denseProgram({}, {4, 32, 32}).program, folder.path);
    description = Json::parse(contentOf(folder / "buffers.json"));
  }
  std::string refusal() {
    put(folder / "buffers.json", description.dump());
    return errorOf(ErrorKind::InvalidFile, [&] { readProgram(folder.path); });
  }
  TemporaryFolder folder;
  Json description;
};

TEST_F(VtaDamagedFiles, Sizes) {
  put(folder / "insn.bin", contentOf(folder / "insn.bin") + "x");
  EXPECT_CONTAINS(refusal(), "insn.bin: expected a multiple of 16 bytes");
}

TEST_F(VtaDamagedFiles, MissingFile) {
  fs::remove(folder / "uop.bin");
  EXPECT_CONTAINS(errorOf(ErrorKind::Io, [&] { readProgram(folder.path); }), "uop.bin");
}

TEST_F(VtaDamagedFiles, MicroOpsDiffer) {
  std::string content = contentOf(folder / "uop.bin");
  content[0] ^= 1;
  put(folder / "uop.bin", content);
  EXPECT_CONTAINS(refusal(), "uop.bin: expected the micro-ops that dram.bin has");
}

TEST_F(VtaDamagedFiles, BufferOutsideOfDram) {
  description["buffers"][0]["offset"] = 1 << 30;
  EXPECT_CONTAINS(refusal(), "buffers.json: buffer 'a': expected a number from 0 to");
}

TEST_F(VtaDamagedFiles, BuffersOverlap) {
  description["buffers"][0]["offset"] = description["buffers"][1]["offset"];
  EXPECT_CONTAINS(refusal(), "overlap in DRAM");
}

TEST_F(VtaDamagedFiles, ShapeAndBytesDiffer) {
  description["buffers"][0]["shape"][0] = 5;
  EXPECT_CONTAINS(refusal(), "buffer 'a': expected the bytes of 160 elements, got 128");
}

TEST_F(VtaDamagedFiles, SizesOverflow) {
  description["buffers"][0]["shape"] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_CONTAINS(refusal(), "buffer 'a': ");
}

TEST_F(VtaDamagedFiles, Layout) {
  description["buffers"][0]["layout"][0]["dimension"] = 2;
  EXPECT_CONTAINS(refusal(), "buffer 'a': layout: there is no dimension 2");
}

TEST_F(VtaDamagedFiles, Runs) {
  description["runs"][0]["end"] = 1000;
  EXPECT_CONTAINS(refusal(), "expected a number from 0 to");
}

TEST_F(VtaDamagedFiles, MoreMicroOpsThanDram) {
  put(folder / "dram.bin", "");
  description["buffers"] = Json::array();
  EXPECT_CONTAINS(refusal(), "micro_ops: expected them in DRAM, which has 0 bytes");
}

// Any byte of any file may be another: an error that is ours to give, or a program that runs.
TEST_F(VtaDamagedFiles, AnyByte) {
  std::mt19937_64 random(5);
  for (const char *file : {"buffers.json", "config.json"}) {
    std::string whole = contentOf(folder / file);
    for (int round = 0; round < 80; ++round) {
      std::string damaged = whole;
      for (uint64_t n = 1 + random() % 3; n > 0; --n)
        damaged[random() % damaged.size()] = static_cast<char>(random());
      put(folder / file, damaged);
      try {
        simulate(readProgram(folder.path));
      } catch (const Error &error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
    put(folder / file, whole);
  }
}

TEST(VtaLayouts, PackingIsUndone) {
  Tensor tensor = randomTensor(DType::I8, {3, 40, 5}, 1, -128, 127);
  for (Layout layout : {plainLayout(3), Layout{{2, 1}, {0, 1}, {1, 1}},
                        Layout{{1, 16}, {0, 2}, {2, 1}, {0, 1}, {1, 4}, {1, 1}}}) {
    ASSERT_EQ(unsupportedLayoutReason(layout, tensor.shape()), "");
    std::vector<std::byte> memory(static_cast<size_t>(paddedElements(layout, tensor.shape())));
    pack(tensor, layout, memory);
    Tensor back = unpack(memory, DType::I8, tensor.shape(), layout);
    EXPECT_TRUE(std::equal(tensor.as<int8_t>(), tensor.as<int8_t>() + tensor.elements(),
                           back.as<int8_t>()));
  }
  // Tiles of 2 x 2, row by row.
  Tensor square = Tensor::allocate(DType::I8, {2, 4});
  for (int i = 0; i < 8; ++i)
    square.as<int8_t>()[i] = static_cast<int8_t>(i);
  std::vector<std::byte> memory(8);
  std::array<int64_t, 2> blocks = {2, 2};
  pack(square, blockedLayout(blocks), memory);
  std::array<int, 8> expected = {0, 1, 4, 5, 2, 3, 6, 7};
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(static_cast<int>(memory[i]), expected[i]);
}

TEST(VtaLayouts, RefusesWhatIsNone) {
  EXPECT_EQ(unsupportedLayoutReason({{0, 1}}, {4, 4}),
            "dimension 1: expected its last axis with a block of 1");
  EXPECT_EQ(unsupportedLayoutReason({{0, 4}, {0, 3}, {0, 1}}, {4}),
            "dimension 0: expected a block that divides 4, got 3");
  EXPECT_EQ(unsupportedLayoutReason({{0, 1}, {0, 1}}, {4}),
            "dimension 0: expected a block that divides 1, got 1");
}

} // namespace
} // namespace headrace::vta
