#include "runtime/Helpers.h"
#include "runtime/program/Programs.h"

namespace headrace {
namespace {

using namespace test;

// No steps: only the inputs matter here.
Executable bindOnly(std::vector<Symbol> symbols, std::vector<TensorSpec> inputs) {
  Program program;
  program.name = "model";
  program.symbols = std::move(symbols);
  program.inputs = std::move(inputs);
  return Executable(std::move(program), ProgramCode{});
}

Tensor f32(Shape shape) { return Tensor::allocate(DType::F32, std::move(shape)); }

const DimExpr batch = DimExpr::symbol(0), width = DimExpr::symbol(1);

TEST(Bind, SymbolsTakeTheSizes) {
  Executable executable =
      bindOnly({{"batch"}, {"width"}}, {{"x", DType::F32, {batch, number(3), width + number(1)}},
                                        {"y", DType::F32, {width, batch * number(2)}}});
  Tensor inputs[] = {f32({4, 3, 9}), f32({8, 8})};
  EXPECT_EQ(executable.bind(inputs), (std::vector<int64_t>{4, 8}));
}

TEST(Bind, WrongShapesNameTheInputAndBothShapes) {
  Executable executable = bindOnly(
      {{"batch"}}, {{"x", DType::F32, {batch, number(3)}}, {"y", DType::F32, {batch + number(1)}}});
  auto message = [&](Shape x, Shape y) {
    Tensor inputs[] = {f32(std::move(x)), f32(std::move(y))};
    return errorOf(ErrorKind::ShapeMismatch, [&] { executable.bind(inputs); });
  };
  EXPECT_EQ(message({4, 5}, {5}), "input 'x': expected shape batch x 3 with batch = 4, got 4 x 5");
  EXPECT_EQ(message({4, 3, 1}, {5}), "input 'x': expected shape batch x 3, got 4 x 3 x 1");
  EXPECT_EQ(message({4, 3}, {4}), "input 'y': expected shape batch + 1 with batch = 4, got 4");
  EXPECT_EQ(message({}, {4}), "input 'x': expected shape batch x 3, got scalar");
}

TEST(Bind, ASymbolHasOneValue) {
  Executable executable =
      bindOnly({{"batch"}}, {{"x", DType::F32, {batch}}, {"y", DType::F32, {batch, number(2)}}});
  Tensor inputs[] = {f32({4}), f32({3, 2})};
  EXPECT_EQ(errorOf(ErrorKind::ShapeMismatch, [&] { executable.bind(inputs); }),
            "input 'y': expected shape batch x 2 with batch = 4, got 3 x 2");
}

TEST(Bind, WrongTypesAndCounts) {
  Executable executable = bindOnly({}, {{"x", DType::F32, {}}, {"y", DType::I64, {}}});
  Tensor wrongType[] = {f32({}), f32({})};
  EXPECT_EQ(errorOf(ErrorKind::TypeMismatch, [&] { executable.bind(wrongType); }),
            "input 'y': expected type i64, got f32");
  Tensor few[] = {f32({})};
  EXPECT_EQ(errorOf(ErrorKind::MissingInput, [&] { executable.bind(few); }),
            "input 'y' is missing: expected 2 inputs, got 1");
  Tensor absent[] = {Tensor(), f32({})};
  EXPECT_EQ(errorOf(ErrorKind::MissingInput, [&] { executable.bind(absent); }),
            "input 'x' is missing");
  Tensor many[] = {f32({}), f32({}), f32({})};
  EXPECT_EQ(errorOf(ErrorKind::InvalidArgument, [&] { executable.bind(many); }),
            "program 'model': expected 2 inputs, got 3");
}

TEST(Bind, GuardsAreNoErrorsButShapesAre) {
  Executable executable = bindOnly(
      {{"batch", 2, 8}}, {{"x", DType::F32, {batch}}, {"y", DType::F32, {batch, number(2)}}});
  Tensor small[] = {f32({1}), f32({1, 2})}, large[] = {f32({9}), f32({9, 2})};
  EXPECT_EQ(executable.bind(small), std::nullopt);
  EXPECT_EQ(executable.bind(large), std::nullopt);
  EXPECT_EQ(errorOf(ErrorKind::ShapeMismatch, [&] { executable.run(small); }),
            "program 'model': expected batch of 2 to 8, got 1");
  Tensor wrong[] = {f32({1}), f32({1, 3})};
  errorOf(ErrorKind::ShapeMismatch, [&] { executable.bind(wrong); });
}

TEST(Bind, SizesBeyondMemoryAreTheUsersError) {
  Program program = chainProgram();
  Executable executable(program, ProgramCode{{addOne, addOne, multiply, addOne}, {}, nullptr});
  // Never read: the call fails before.
  Tensor inputs[] = {Tensor::borrow(DType::F32, {INT64_MAX / 8}, nullptr, nullptr)};
  errorOf(ErrorKind::InvalidArgument, [&] { executable.run(inputs); });
}

struct Broken {
  const char *name;
  void (*damage)(Program &);
  const char *message;
};

class BrokenProgram : public testing::TestWithParam<Broken> {};

TEST_P(BrokenProgram, IsAnInternalError) {
  Program program = chainProgram();
  GetParam().damage(program);
  try {
    Executable(program, ProgramCode{{addOne, addOne, multiply, addOne}, {}, nullptr});
    FAIL() << "was accepted";
  } catch (const InternalError &error) {
    EXPECT_CONTAINS(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Bind, BrokenProgram,
    testing::Values(
        Broken{"Operand", [](Program &p) { p.steps[1].operands[0] = 9; }, "buffer 9 of 5"},
        Broken{"Lifetime", [](Program &p) { p.buffers[1].lastStep = 1; }, "outside its lifetime"},
        Broken{"Steps", [](Program &p) { p.buffers[1].lastStep = 7; }, "outside the steps"},
        Broken{"Index", [](Program &p) { p.buffers[0].index = 1; }, "index 1 of 1"},
        Broken{"Output", [](Program &p) { p.outputs.push_back({"z", DType::F32, {}}); },
               "output 'z' has 0 buffers"},
        Broken{"Symbol", [](Program &p) { p.symbols.push_back({"m"}); }, "symbol 'm'"},
        Broken{"NoOperands", [](Program &p) { p.steps[1].operands.clear(); }, "has no operands"},
        Broken{"Swapped",
               [](Program &p) { std::swap(p.steps[0].operands[0], p.steps[0].operands[1]); },
               "writes to a read-only buffer"},
        Broken{"Unwritten",
               [](Program &p) { p.steps[2].operands[2] = 2, p.steps[3].operands[0] = 4; },
               "no step writes output 'y'"},
        Broken{"Negative", [](Program &p) { p.buffers[1].bytes = number(-4); }, "negative size"},
        Broken{"NegativeDim", [](Program &p) { p.outputs[0].dims[0] = number(-1); },
               "output 'y' has a negative size"},
        Broken{"Workspace", [](Program &p) { p.steps[0].workspaceBytes = -1; },
               "negative workspace"},
        Broken{"NoSize", [](Program &p) { p.symbols[0].min = 5, p.symbols[0].max = 4; },
               "sizes from 5 to 4"},
        Broken{"Library",
               [](Program &p) {
                 p.steps[1].kind = Step::Kind::Library;
                 p.steps[1].symbol = "copy";
               },
               "calls 'copy' with 2 operands and 0 parameters, which takes 2 and 1"},
        Broken{"Unknown", [](Program &p) { p.symbols.clear(); }, "unknown symbol"},
        Broken{"Kernel", [](Program &p) { p.steps.pop_back(), p.buffers.pop_back(); },
               "3 steps but 4 kernels"}),
    [](const auto &info) { return std::string(info.param.name); });

// Faults that only certain sizes show. In a program that was read they are a damaged file, not our
// mistake.
TEST(Executable, SizesThatDoNotFitAreNamedWithTheirFile) {
  Tensor x = floats({6}, {1, 2, 3, 4, 5, 6});
  DimExpr n = DimExpr::symbol(0);
  auto refusal = [&](const std::function<void(Program &)> &damage) {
    Program program = chainProgram();
    program.origin = "test.hrpkg";
    damage(program);
    std::vector<KernelFn> kernels = {addOne, addOne, multiply, addOne};
    for (size_t i = 0; i < kernels.size(); ++i)
      if (program.steps[i].kind == Step::Kind::Library)
        kernels[i] = nullptr;
    Executable executable(program, ProgramCode{kernels, {}, nullptr});
    try {
      executable.run({&x, 1});
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([&](Program &p) { p.buffers[1].bytes = number(20) - n * number(4); }),
            "test.hrpkg: the package is damaged: program 'chain': buffer 1 claims -4 of "
            "9223372036854775807 bytes");
  EXPECT_CONTAINS(refusal([&](Program &p) { p.buffers[0].bytes = n * number(8); }),
                  "test.hrpkg: the package is damaged: program 'chain': buffer 0 claims 48 of 24");
  EXPECT_CONTAINS(
      refusal([&](Program &p) { p.buffers[1].bytes = number(8).floorDiv(n - number(6)); }),
      "test.hrpkg: program 'chain': a size computed from the input sizes is divided by zero");
  EXPECT_CONTAINS(refusal([&](Program &p) {
                    p.steps[1].kind = Step::Kind::Library;
                    p.steps[1].symbol = "copy";
                    p.steps[1].parameters = {n * number(8)};
                  }),
                  "step 'b' copies 48 bytes from 24 to 24");
}

TEST(Executable, AnAbsentLibraryIsNamed) {
  Program program = chainProgram();
  program.steps[1].kind = Step::Kind::Library;
  program.steps[1].symbol = "nolib.gemm";
  EXPECT_EQ(errorOf(ErrorKind::Unsupported,
                    [&] {
                      Executable(program,
                                 ProgramCode{{addOne, nullptr, multiply, addOne}, {}, nullptr});
                    }),
            "step 'b': expected library routine 'nolib.gemm', which this machine lacks");
  EXPECT_THROW(Executable(program, ProgramCode{{addOne, addOne, multiply, addOne}, {}, nullptr}),
               InternalError);
}

} // namespace
} // namespace headrace
