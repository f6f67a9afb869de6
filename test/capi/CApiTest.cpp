// The C interface and its C++ wrapper, as the shared library has them.
#include "capi/Fixture.h"
#include <gtest/gtest.h>
#include <headrace/headrace.hpp>

namespace {

class CApi : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(headrace_package_open(file.path().c_str(), &package), 0); }
  void TearDown() override { headrace_package_close(package); }

  const headrace_program *program() { return headrace_package_program_at(package, 0); }

  TestPackageFile file;
  headrace_package *package = nullptr;
};

headrace_tensor tensor(const float *data, const int64_t &size) {
  return {const_cast<float *>(data), &size, 1, HEADRACE_F32};
}

TEST_F(CApi, RunsIntoTheCallersMemory) {
  std::vector<float> x = {1, 2, 3}, y(3);
  int64_t size = 3;
  headrace_tensor input = tensor(x.data(), size), output = tensor(y.data(), size);
  ASSERT_EQ(headrace_run(program(), &input, 1, &output, 1), HEADRACE_OK) << headrace_last_error();
  EXPECT_EQ(y, expectedValues(x));
  std::fill(y.begin(), y.end(), 0.0f);
  output.shape = nullptr;
  ASSERT_EQ(headrace_run(program(), &input, 1, &output, 1), HEADRACE_OK);
  EXPECT_EQ(y, expectedValues(x));
}

TEST_F(CApi, TellsTheInterface) {
  EXPECT_EQ(headrace_abi_version(), HEADRACE_ABI_VERSION);
  EXPECT_EQ(headrace_package_program_count(package), 1u);
  EXPECT_STREQ(headrace_package_level(package), "x86-64-v2");
  EXPECT_STREQ(headrace_program_name(program()), "chain");
  ASSERT_EQ(headrace_program_input_count(program()), 1u);
  const headrace_spec *spec = headrace_program_input(program(), 0);
  EXPECT_STREQ(spec->name, "x");
  EXPECT_EQ(spec->type, HEADRACE_F32);
  EXPECT_EQ(spec->dims[0], -1);
  EXPECT_STREQ(spec->dim_texts[0], "n");
  EXPECT_EQ(headrace_program_output(program(), 1), nullptr);
  EXPECT_EQ(headrace_package_program_at(package, 1), nullptr);
  int64_t size = 7, shape = 0;
  headrace_tensor input = tensor(nullptr, size);
  ASSERT_EQ(headrace_output_shape(program(), &input, 1, 0, &shape), HEADRACE_OK);
  EXPECT_EQ(shape, 7);
}

TEST_F(CApi, ErrorsAreStatusAndOneLine) {
  headrace_package *none = package;
  EXPECT_EQ(headrace_package_open("/no/such/file", &none), HEADRACE_IO_ERROR);
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(std::string(headrace_last_error()).find("/no/such/file"), std::string::npos);
  EXPECT_EQ(headrace_package_open(nullptr, &none), HEADRACE_INVALID_ARGUMENT);
  const headrace_program *found = nullptr;
  EXPECT_EQ(headrace_package_program(package, "other", &found), HEADRACE_INVALID_ARGUMENT);

  float x = 0;
  int64_t size = 0, large = 4;
  headrace_tensor empty = tensor(&x, size), wrong = {&x, &size, 1, HEADRACE_F64},
                  missing = tensor(nullptr, large), nonsense = {&x, &size, 1, 99},
                  output = tensor(&x, size);
  EXPECT_EQ(headrace_run(program(), &empty, 1, &output, 1), HEADRACE_UNSUPPORTED);
  EXPECT_EQ(headrace_run(program(), &wrong, 1, &output, 1), HEADRACE_TYPE_MISMATCH);
  EXPECT_EQ(headrace_run(program(), &missing, 1, &output, 1), HEADRACE_INVALID_ARGUMENT);
  EXPECT_EQ(headrace_run(program(), &nonsense, 1, &output, 1), HEADRACE_INVALID_ARGUMENT);
  EXPECT_EQ(headrace_run(program(), nullptr, 0, &output, 1), HEADRACE_MISSING_INPUT);
  EXPECT_EQ(headrace_run(program(), &empty, 1, nullptr, 0), HEADRACE_INVALID_ARGUMENT);
  std::vector<float> in(4), out(4);
  headrace_tensor four = tensor(in.data(), large), none_ = tensor(out.data(), size);
  EXPECT_EQ(headrace_run(program(), &four, 1, &none_, 1), HEADRACE_SHAPE_MISMATCH);
  EXPECT_STREQ(headrace_last_error(), "output 'y': expected memory for f32 4, got f32 0");
}

TEST(CppApi, RunsAndThrows) {
  TestPackageFile file;
  headrace::Package package(file.path());
  std::vector<float> x = {0.25f, 2, 3, -1};
  headrace::Result result = package.program().run({headrace::Input(x.data(), {4})});
  EXPECT_EQ(result.shape(0), headrace::Shape{4});
  EXPECT_EQ(result.values<float>(0), expectedValues(x));
  EXPECT_THROW(result.data<double>(0), headrace::Error);
  EXPECT_THROW(result.at(1), headrace::Error);
  EXPECT_THROW(package.program("other"), headrace::Error);
  try {
    package.program().run({});
    ADD_FAILURE();
  } catch (const headrace::Error &error) {
    EXPECT_EQ(error.status(), HEADRACE_MISSING_INPUT);
    EXPECT_STREQ(error.what(), "input 'x' is missing: expected 1 inputs, got 0");
  }
}

TEST(CppApi, DataThatIsNotAllowedHasAStatus) {
  CheckedPackageFile file;
  headrace::Package package(file.path());
  auto run = [&](std::vector<int64_t> values) {
    int64_t size = static_cast<int64_t>(values.size());
    return package.program().run({headrace::Input(values.data(), {size})}).values<int64_t>(0);
  };
  auto expect = [&](std::vector<int64_t> values, headrace_status status, const char *message) {
    try {
      run(std::move(values));
      ADD_FAILURE() << "no error";
    } catch (const headrace::Error &error) {
      EXPECT_EQ(error.status(), status);
      EXPECT_STREQ(error.what(), message);
    }
  };
  EXPECT_EQ(run({1, -5, 4}), (std::vector<int64_t>{1, -5, 4}));
  expect({1, 2, 5, -6}, HEADRACE_OUT_OF_RANGE,
         "node 'embed' (Gather): index 5 at [2] is outside [-5, 5)");
  expect({7, 0}, HEADRACE_DIVISION_BY_ZERO, "node 'halve' (Div): integers divided by 0 at [1]");
  EXPECT_EQ(run({3}), std::vector<int64_t>{3});
}

TEST(CppApi, TypesAreTheLibrarys) {
  EXPECT_EQ(headrace::typeOf<int8_t>(), HEADRACE_I8);
  EXPECT_EQ(headrace::typeOf<uint8_t>(), HEADRACE_U8);
  EXPECT_EQ(headrace::typeOf<uint32_t>(), HEADRACE_U32);
  EXPECT_EQ(headrace::typeOf<int64_t>(), HEADRACE_I64);
  EXPECT_EQ(headrace::typeOf<long long>(), HEADRACE_I64);
  EXPECT_EQ(headrace::typeOf<double>(), HEADRACE_F64);
}

} // namespace
