#include "capi/Fixture.h"

#include "package/TestPackage.h"
#include "runtime/Helpers.h"
#include "runtime/program/Programs.h"
#include "runtime/program/ValueCheck.h"

struct TestPackageFile::Impl {
  headrace::test::TemporaryFolder folder;
};

TestPackageFile::TestPackageFile() : impl(std::make_unique<Impl>()) {
  headrace::test::writeTestPackage(path());
}
TestPackageFile::~TestPackageFile() = default;
std::string TestPackageFile::path() const { return impl->folder / "test.hrpkg"; }

struct CheckedPackageFile::Impl {
  headrace::test::TemporaryFolder folder;
};

static headrace::Program checkedProgram() {
  using namespace headrace;
  using test::buffer, test::number;
  DimExpr n = DimExpr::symbol(0), bytes = n * number(8);
  Program program;
  program.name = "checked";
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"i", DType::I64, {n}}};
  program.outputs = {{"y", DType::I64, {n}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, bytes),
                     buffer(BufferInfo::Kind::Output, 0, bytes)};
  program.buffers[0].dtype = program.buffers[1].dtype = DType::I64;
  auto add = [&](std::string name, std::string symbol, std::vector<int> operands,
                 std::vector<DimExpr> parameters) {
    Step &step = program.steps.emplace_back();
    step.kind = Step::Kind::Library;
    step.name = std::move(name);
    step.symbol = std::move(symbol);
    step.operands = std::move(operands);
    step.parameters = std::move(parameters);
  };
  add("node 'halve' (Div)", checkSymbol(ValueCheck::Kind::Divisor), {0},
      checkParameters(DType::I64, number(0), number(0), std::nullopt, {n}));
  add("node 'embed' (Gather)", checkSymbol(ValueCheck::Kind::Index), {0},
      checkParameters(DType::I64, number(-5), number(5), std::nullopt, {n}));
  add("copy", "copy", {0, 1}, {bytes});
  return program;
}

CheckedPackageFile::CheckedPackageFile() : impl(std::make_unique<Impl>()) {
  headrace::PackageContents contents = headrace::test::testContents();
  headrace::Program program = checkedProgram();
  headrace::ProgramNotes notes;
  notes.steps.resize(program.steps.size());
  contents.programs = {{program, {{0, {std::nullopt}, program, notes}}}};
  headrace::test::writeTestPackage(path(), contents);
}
CheckedPackageFile::~CheckedPackageFile() = default;
std::string CheckedPackageFile::path() const { return impl->folder / "checked.hrpkg"; }

std::vector<float> expectedValues(const std::vector<float> &x) {
  return headrace::test::expectedOutput(x);
}
