// Packages for a device, against the driver without one.
#include "package/DevicePackage.h"

#include "package/Manifest.h"
#include "package/Package.h"
#include "package/ProgramJson.h"
#include "runtime/Helpers.h"
#include "runtime/cuda/CudaTest.h"
#include "runtime/system/Error.h"

#include <fstream>
#include <headrace/headrace.h>
#include <iterator>

namespace headrace::test {

namespace {

class DevicePackageTest : public CudaTest {
protected:
  DevicePackageTest() { write(); }

  void write() { writeDevicePackage(path(), contents); }
  std::string path() const { return folder / "chain.hrpkg"; }
  std::string openError() const {
    try {
      Package::open(path());
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder;
  PackageContents contents = deviceContents();
};

TEST_F(DevicePackageTest, RunsOnTheDevice) {
  auto package = Package::open(path());
  EXPECT_EQ(package->level(), "sm_90a");
  auto program = package->program();
  EXPECT_EQ(program->engine(), "cuda");
  EXPECT_EQ(calls("cuModuleLoadData"), 0); // nothing is compiled before it is used
  for (int64_t n : {3, 8, 8, 8}) {
    std::vector inputs{counting(n)};
    expectChain(program->find(inputs)->run(inputs)[0], n);
  }
  EXPECT_EQ(calls("cuModuleLoadData"), 1);
}

TEST_F(DevicePackageTest, TheInterfaceInCTakesMemoryOfBothKinds) {
  headrace_package *package = nullptr;
  ASSERT_EQ(headrace_package_open(path().c_str(), &package), HEADRACE_OK) << headrace_last_error();
  const headrace_program *program = headrace_package_program_at(package, 0);
  Tensor host = counting(8), device = cuda::toDevice(cuda::Device::get(0), host);
  int64_t size = 8;
  std::vector<float> y(8);
  headrace_tensor output{y.data(), &size, 1, HEADRACE_F32};
  for (Tensor &x : std::vector{host, device}) {
    headrace_tensor input{x.data(), &size, 1, HEADRACE_F32};
    std::fill(y.begin(), y.end(), 0.0f);
    ASSERT_EQ(headrace_run(program, &input, 1, &output, 1), HEADRACE_OK) << headrace_last_error();
    EXPECT_EQ(y[7], 72);
    headrace_result *result = nullptr;
    ASSERT_EQ(headrace_run_new(program, &input, 1, &result), HEADRACE_OK);
    EXPECT_EQ(static_cast<float *>(headrace_result_output(result, 0)->data)[7], 72);
    headrace_result_free(result);
  }
  Tensor there = cuda::toDevice(cuda::Device::get(0), host);
  headrace_tensor input{device.data(), &size, 1, HEADRACE_F32};
  output.data = there.data();
  ASSERT_EQ(headrace_enqueue(program, &input, 1, &output, 1, nullptr), HEADRACE_OK);
  EXPECT_EQ(cuda::toHost(there, nullptr).as<float>()[7], 72);

  headrace_step steps[2];
  size_t count = 0;
  ASSERT_EQ(headrace_time_steps(program, &input, 1, steps, 2, &count), HEADRACE_OK);
  EXPECT_EQ(count, 4u);
  EXPECT_STREQ(steps[1].name, "b");
  EXPECT_STREQ(steps[1].notes, "40 registers");
  EXPECT_EQ(steps[1].microseconds, 1000);
  headrace_package_close(package);
}

TEST_F(DevicePackageTest, PackagesOfTheFirstFormatNameNoEngines) {
  std::ifstream file(path(), std::ios::binary);
  std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  ZipReader zip(std::as_bytes(std::span(bytes)), "chain.hrpkg");
  auto textOf = [&](const std::string &name) {
    Bytes data = zip.file(name);
    return std::string(reinterpret_cast<const char *>(data.data()), data.size());
  };
  std::string manifest = textOf(manifestFile), code = textOf("code/0-sm_90a.json");
  auto drop = [&](const std::string &what, const std::string &with, size_t at) {
    ASSERT_NE(at, std::string::npos) << what;
    manifest.replace(at, what.size(), with);
  };
  drop("\"version\":2", "\"version\":1", manifest.find("\"version\":2"));
  drop("\"checksum\"", "\"unchecked\"", manifest.rfind("\"checksum\""));
  const std::string engine = ",\"engine\":\"cuda\"";
  for (size_t at; (at = manifest.find(engine)) != std::string::npos;)
    manifest.erase(at, engine.size());
  ZipWriter writer;
  writer.add(manifestFile, {std::as_bytes(std::span(manifest))});
  writer.add("code/0-sm_90a.json", {std::as_bytes(std::span(code))});
  writer.add(weightsFile, {zip.file(weightsFile)});
  writer.write(path());
  std::vector inputs{counting(8)};
  expectChain(Package::open(path())->program()->find(inputs)->run(inputs)[0], 8);
}

TEST_F(DevicePackageTest, OtherArchitecturesAreRefusedByName) {
  contents.code[0].level = "sm_100a";
  write();
  EXPECT_CONTAINS(openError(), "got code for cuda sm_100a (device Fake H200 is sm_90a)");
}

TEST_F(DevicePackageTest, AMissingDriverIsOneLine) {
  ::setenv("HEADRACE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  EXPECT_CONTAINS(openError(), "chain.hrpkg: expected code that runs on this machine");
  EXPECT_CONTAINS(openError(), "no NVIDIA driver: /nowhere/libcuda.so.1 not found");
}

TEST_F(DevicePackageTest, MissingImagesAreDamage) {
  contents.programs[0].versions[0].program.steps[1].symbol = "another";
  write();
  auto program = Package::open(path())->program();
  try {
    program->find(std::vector{counting(3)});
    FAIL();
  } catch (const Error &error) {
    EXPECT_CONTAINS(error.what(), "its code lacks 'another' of step 'b'");
  }
}

TEST_F(DevicePackageTest, LaunchesComeBack) {
  Program program = deviceChain();
  LaunchParameter map;
  map.kind = LaunchParameter::Kind::TensorMap;
  map.tile = {DType::BF16, {DimExpr::symbol(0), number(64)}, {128, 32}, 64};
  Launch &launch = program.steps[0].launches[0];
  launch.parameters.push_back(map);
  map.index = -1; // a matrix in the workspace
  map.size = number(128);
  launch.parameters.push_back(map);
  launch.parameters.push_back(workspaceParameter(64));
  launch.block = {32, 4, 1};
  launch.sharedBytes = 1000;
  program.steps[0].deviceWorkspaceBytes = DimExpr::symbol(0) * number(8);
  auto keep = [](const Tensor &) { return size_t{0}; };
  auto find = [](size_t, DType type, const Shape &shape) { return Tensor::allocate(type, shape); };
  Json json = programToJson(program, keep);
  EXPECT_EQ(programToJson(programFromJson(json, find), keep), json);
  Program read = programFromJson(json, find);
  const Launch &back = read.steps[0].launches[0];
  size_t count = back.parameters.size();
  EXPECT_EQ(back.parameters[count - 2].index, -1);
  EXPECT_EQ(back.parameters[count - 2].size, number(128));
  json["steps"][0]["launches"][0]["parameters"][0]["operand"] = 9;
  EXPECT_THROW(programFromJson(json, find), JsonFault);
}

} // namespace

} // namespace headrace::test
