#include "package/TestPackage.h"

#include "package/Writer.h"
#include "runtime/program/Programs.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Processor.h"

#include <cmath>
#include <fstream>

namespace headrace::test {

namespace {

Tensor weights() {
  Tensor tensor = Tensor::allocate(DType::F32, {maxElements});
  for (int64_t i = 0; i < maxElements; ++i)
    tensor.as<float>()[i] = static_cast<float>(i % 7) - 3;
  return tensor;
}

Program generalProgram() {
  DimExpr n = DimExpr::symbol(0), bytes = n * number(4);
  Program program;
  program.name = "chain";
  program.symbols = {{"n", 2, maxElements}};
  program.inputs = {{"x", DType::F32, {n}}};
  program.outputs = {{"y", DType::F32, {n}}};
  program.constants = {weights()};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, bytes),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 0, 1),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 1, 2),
                     buffer(BufferInfo::Kind::Constant, 0, bytes),
                     buffer(BufferInfo::Kind::Output, 0, bytes)};
  program.steps = {kernelStep("add_one", {0, 1}, n), kernelStep("multiply", {0, 1, 2}, n),
                   kernelStep("multiply", {2, 3, 4}, n)};
  return program;
}

Program programOfOne() {
  Program program;
  program.name = "chain";
  program.inputs = {{"x", DType::F32, {number(1)}}};
  program.outputs = {{"y", DType::F32, {number(1)}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, number(4)),
                     buffer(BufferInfo::Kind::Output, 0, number(4))};
  program.steps = {kernelStep("tanh_of_one", {0, 1}, number(1))};
  return program;
}

ProgramNotes notesOn(const Program &program) {
  ProgramNotes notes;
  notes.before = {4, number(100), number(10), number(50)};
  notes.steps.resize(program.steps.size(), {"elementwise", "vector 16", "", "", ""});
  return notes;
}

} // namespace

PackageContents testContents() {
  Program general = generalProgram(), one = programOfOne();
  Program declared;
  declared.name = "chain";
  declared.symbols = {{"n", 0, INT64_MAX}};
  declared.inputs = general.inputs;
  declared.outputs = general.outputs;
  PackageContents contents;
  contents.producer = "the tests";
  contents.code = {{"x86-64", "x86-64-v2", {}}};
  contents.programs = {
      {declared, {{0, {std::nullopt}, general, notesOn(general)}, {0, {1}, one, notesOn(one)}}}};
  return contents;
}

std::vector<std::byte> testCode() { return readBytes(HEADRACE_TEST_KERNELS); }

void writeTestPackage(const std::filesystem::path &path, const PackageContents &contents,
                      const std::vector<std::byte> &code) {
  std::vector<Bytes> objects(contents.code.size(), code);
  writePackage(path, contents, objects);
}

std::vector<float> expectedOutput(const std::vector<float> &x) {
  if (x.size() == 1)
    return {std::tanh(x[0])};
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * (x[i] + 1) * (static_cast<float>(i % 7) - 3);
  return y;
}

std::vector<std::byte> readBytes(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  auto *begin = reinterpret_cast<const std::byte *>(text.data());
  return {begin, begin + text.size()};
}

void writeBytes(const std::filesystem::path &path, Bytes bytes) {
  writeFileAtomically(path, {bytes});
}

} // namespace headrace::test
