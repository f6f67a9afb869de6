#include "package/Package.h"

#include "package/Manifest.h"
#include "package/TestPackage.h"
#include "runtime/Helpers.h"

#include <cstdlib>
#include <elf.h>
#include <random>

namespace headrace::test {
namespace {

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i) / 8 - 1;
  return values;
}

std::vector<float> runOn(const Package &package, const std::vector<float> &x) {
  Tensor input = floats({static_cast<int64_t>(x.size())}, x);
  auto version = package.program()->find({&input, 1});
  return valuesOf<float>(version->run({&input, 1})[0]);
}

class PackageTest : public ::testing::Test {
  TemporaryFolder folder;

protected:
  std::filesystem::path path = folder / "test.hrpkg";

  std::string refusal(ErrorKind kind) {
    return errorOf(kind, [&] { Package::open(path); });
  }

  /// The package with another manifest, its checksum being right.
  void rewriteManifest(const std::string &what, const std::string &with,
                       const std::filesystem::path &kernels = HEADRACE_TEST_KERNELS) {
    std::vector<std::byte> bytes = readBytes(path);
    ZipReader zip(bytes, "test.hrpkg");
    Bytes old = zip.file(manifestFile);
    std::string text(reinterpret_cast<const char *>(old.data()), old.size());
    size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, what.size(), with);
    std::vector<std::byte> code = readBytes(kernels);
    ZipWriter writer;
    writer.add(manifestFile, {std::as_bytes(std::span(text))});
    writer.add("code/0-x86-64-v2.so", {code});
    writer.add(weightsFile, {zip.file(weightsFile)});
    writer.write(path);
  }
};

TEST_F(PackageTest, ServesEverySizeByItsVersion) {
  writeTestPackage(path);
  auto package = Package::open(path);
  EXPECT_EQ(package->level(), "x86-64-v2");
  for (size_t n : {1, 2, 5, 3000})
    EXPECT_EQ(runOn(*package, numbers(n)), expectedOutput(numbers(n))) << n;
}

TEST_F(PackageTest, SaysWhichSizesItServes) {
  writeTestPackage(path);
  auto package = Package::open(path);
  Tensor empty = Tensor::allocate(DType::F32, {0});
  EXPECT_EQ(
      errorOf(ErrorKind::Unsupported, [&] { package->program()->find({&empty, 1}); }),
      "test.hrpkg: program 'chain' is not compiled for n = 0; it serves n = 1; n of 2 to 3000");
  Tensor wrong = Tensor::allocate(DType::F64, {5});
  EXPECT_CONTAINS(errorOf(ErrorKind::TypeMismatch, [&] { package->program()->find({&wrong, 1}); }),
                  "input 'x': expected type f32, got f64");
}

TEST_F(PackageTest, WeightsStayInTheFile) {
  writeTestPackage(path);
  auto package = Package::open(path);
  Tensor x = floats({2}, {1, 2});
  auto version = package->program()->find({&x, 1});
  const Tensor &weights = version->program().constants[0];
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weights.data()) % 4096, 0u);
  EXPECT_NE(weights.owner(), nullptr);
  package.reset(); // the version keeps code and weights
  EXPECT_EQ(valuesOf<float>(version->run({&x, 1})[0]), expectedOutput({1, 2}));
}

TEST_F(PackageTest, ExplainsItsVersions) {
  writeTestPackage(path);
  Explanation explanation = Package::open(path)->program()->explain({});
  EXPECT_EQ(explanation.before.kernels, 4);
  EXPECT_EQ(explanation.after.kernels, 3);
  EXPECT_EQ(explanation.kernels[0].kind, "elementwise");
  EXPECT_EQ(Package::open(path)->program()->explain({1}).after.kernels, 1);
}

TEST_F(PackageTest, HoldsSeveralPrograms) {
  PackageContents contents = testContents();
  contents.programs.push_back(contents.programs[0]);
  contents.programs[1].interface.name = "other";
  writeTestPackage(path, contents);
  auto package = Package::open(path);
  EXPECT_EQ(package->program("other")->interface().name, "other");
  EXPECT_EQ(errorOf(ErrorKind::InvalidArgument, [&] { package->program(); }),
            "test.hrpkg: expected the name of a program ('chain', 'other'), got ''");
  // Equal weights are there once.
  EXPECT_LT(std::filesystem::file_size(path), 2 * maxElements * sizeof(float) + 60000);
}

TEST_F(PackageTest, ChoosesTheBestCodeThatRuns) {
  PackageContents contents = testContents();
  contents.code = {{"x86-64", "x86-64-v2", {}},
                   {"x86-64", "x86-64-v99", {}},
                   {"x86-64", "x86-64-v2", {"nosuchfeature"}}};
  auto &versions = contents.programs[0].versions;
  for (size_t code : {1, 2})
    for (size_t v : {0, 1}) {
      versions.push_back(versions[v]);
      versions.back().code = code;
    }
  writeTestPackage(path, contents);
  EXPECT_EQ(Package::open(path)->program()->versionCount(), 2u);
  ::setenv("HEADRACE_CPU_LEVEL", "x86-64-v2", 1);
  EXPECT_EQ(Package::open(path)->level(), "x86-64-v2");
  ::setenv("HEADRACE_CPU_LEVEL", "i486", 1);
  EXPECT_CONTAINS(refusal(ErrorKind::InvalidArgument), "HEADRACE_CPU_LEVEL: expected x86-64-v2");
  ::unsetenv("HEADRACE_CPU_LEVEL");
}

TEST_F(PackageTest, AnotherProcessorIsNamed) {
  PackageContents contents = testContents();
  contents.code = {{"aarch64", "armv8.2", {}}};
  writeTestPackage(path, contents);
  std::string message = refusal(ErrorKind::Unsupported);
  EXPECT_CONTAINS(message, "test.hrpkg: expected code that runs on this machine (x86-64");
  EXPECT_CONTAINS(message, "got code for aarch64 armv8.2");
  contents.code = {{"x86-64", "x86-64-v2", {"nosuchfeature"}}};
  writeTestPackage(path, contents);
  EXPECT_CONTAINS(refusal(ErrorKind::Unsupported), "x86-64-v2+nosuchfeature");
}

TEST_F(PackageTest, CodeOfAnotherMachineIsNotLoaded) {
  std::vector<std::byte> code = testCode();
  code[offsetof(Elf64_Ehdr, e_machine)] = std::byte{EM_AARCH64};
  writeTestPackage(path, testContents(), code);
  EXPECT_CONTAINS(refusal(ErrorKind::Unsupported),
                  "expected code for x86-64, got code for machine");
  writeTestPackage(path, testContents(), std::vector<std::byte>(1000));
  EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "its code is not a shared object");
}

TEST_F(PackageTest, ANewerFormatIsNamed) {
  writeTestPackage(path);
  rewriteManifest("\"version\":1", "\"version\":4");
  EXPECT_EQ(
      refusal(ErrorKind::Unsupported),
      "test.hrpkg: expected a package of format 3 or older, got format 4 of the tests: a newer "
      "Headrace is needed");
}

TEST_F(PackageTest, AManifestThatDoesNotFitIsRefused) {
  const std::pair<const char *, const char *> changes[] = {
      {"headrace-package", "another-thing!!!"},
      {"\"dataflow\"", "\"script\""},
      {"\"dataflow\"", "\"poem\""},
      {"\"code\":0", "\"code\":9"},
      {"\"weights\":0", "\"weights\":9"},
      {"\"bytes\":12032", "\"bytes\":99999"},
      {"[0,12000,", "[0,99999,"},
      {"[0,12000,", "[0,11000,"},
      {"[0,12000,", "[8,11000,"},
      {"\"symbol\":\"add_one\"", "\"symbol\":\"no_such\""},
      {"\"sizes\":[null]", "\"sizes\":[2]"},
      {"\"sizes\":[null]", "\"sizes\":[null,null]"},
      {"\"programs\":[", "\"programs\":[],\"x\":["},
      {"\"producer\"", "\"made by\""},
      {"{", "["},
      {"\"operands\":[0,1]", "\"operands\":[]"},
      {"\"operands\":[0,1]", "\"operands\":[1,0]"},
      {"\"operands\":[0,1,2]", "\"operands\":[1,0,2]"}, // only the checksum tells
      {"\"kind\":\"temporary\",\"type\":\"f32\",\"bytes\":\"4*s0\"",
       "\"kind\":\"temporary\",\"type\":\"f32\",\"bytes\":4"}, // likewise
      {"\"bytes\":\"4*s0\"", "\"bytes\":-4"},
      {"\"bytes\":\"4*s0\"", "\"bytes\":\"4 // (s0 - s0)\""},
      {"\"bytes\":\"4*s0\"", "\"bytes\":\"s1\""},
      {"\"bytes\":\"4*s0\"", "\"bytes\":null"},
      {"\"bytes\":\"4*s0\"", "\"bytes\":1e400"},
      {"\"first\":0", "\"first\":2"},
      {"\"min\":2,\"max\":3000", "\"min\":9,\"max\":3"},
      {"\"shape\":[3000]", "\"shape\":[4611686018427387904,4]"},
      {"\"shape\":[3000]", "\"shape\":[-3000]"},
      {"\"outputs\":[{\"name\":\"y\"", "\"outputs\":[{\"name\":\"z\""},
      {"\"outputs\":[{\"name\":\"y\",\"type\":\"f32\",\"dims\":[\"s0\"]}]", "\"outputs\":[]"},
      {"\"symbols\":[{\"name\":\"n\"", "\"symbols\":[{\"name\":\"m\""},
  };
  for (auto [what, with] : changes) {
    writeTestPackage(path);
    rewriteManifest(what, with);
    EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "test.hrpkg: the package is damaged: ");
  }
}

TEST_F(PackageTest, DeepNestingIsRefused) {
  for (const std::string &deep :
       {std::string(200000, '['), std::string(200000, '[') + std::string(200000, ']')})
    for (const char *place : {"{", "0,\"sizes\"", "12032", "\"the tests\""}) {
      writeTestPackage(path);
      std::string with = std::string(place).starts_with('0') ? deep + ",\"sizes\"" : deep;
      rewriteManifest(place, with);
      EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "its manifest is not JSON");
    }
  writeTestPackage(path);
  rewriteManifest("\"bytes\":\"4*s0\"", "\"bytes\":\"" + std::string(100000, '(') + "\"");
  EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "expected a size");
}

// Its code would run when it is loaded; nothing of it is before the rest is accepted.
TEST_F(PackageTest, CodeIsLoadedLast) {
  ::unsetenv("HEADRACE_TEST_CODE_LOADED");
  writeTestPackage(path, testContents(), readBytes(HEADRACE_TEST_EAGER_KERNELS));
  const std::vector<std::byte> good = readBytes(path);
  rewriteManifest("\"operands\":[0,1,2]", "\"operands\":[1,0,2]", HEADRACE_TEST_EAGER_KERNELS);
  refusal(ErrorKind::InvalidFile);
  EXPECT_EQ(::getenv("HEADRACE_TEST_CODE_LOADED"), nullptr);
  writeBytes(path, good);
  Package::open(path);
  EXPECT_NE(::getenv("HEADRACE_TEST_CODE_LOADED"), nullptr);
}

TEST_F(PackageTest, NamesAreGivenOnce) {
  PackageContents contents = testContents();
  contents.programs.push_back(contents.programs[0]);
  writeTestPackage(path, contents);
  EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "there are two programs 'chain'");
  contents = testContents();
  Program &declared = contents.programs[0].interface;
  declared.inputs.push_back(declared.inputs[0]);
  writeTestPackage(path, contents);
  EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "there are two inputs 'x'");
}

TEST(PackageName, DecidesWhatIsOpenedAsAPackage) {
  EXPECT_TRUE(Package::isNamedLikeOne("a/b.hrpkg"));
  EXPECT_FALSE(Package::isNamedLikeOne("a/b.onnx"));
}

// A flipped bit is noticed wherever it is, or is between the files.
TEST_F(PackageTest, DamageIsNoticed) {
  writeTestPackage(path);
  const std::vector<std::byte> good = readBytes(path);
  std::vector<float> x = numbers(100);
  std::mt19937 random(1);
  int refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::byte> bad = good;
    size_t at = random() % bad.size();
    bad[at] ^= std::byte(1 << random() % 8);
    writeBytes(path, bad);
    try {
      EXPECT_EQ(runOn(*Package::open(path), x), expectedOutput(x)) << at;
    } catch (const Error &error) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(PackageTest, TruncationIsNoticed) {
  writeTestPackage(path);
  const std::vector<std::byte> good = readBytes(path);
  for (size_t length = 1; length < good.size(); length += 1 + good.size() / 50) {
    writeBytes(path, Bytes(good).first(length));
    EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "test.hrpkg: ");
  }
}

TEST_F(PackageTest, ALibraryThatIsMissingIsNamed) {
  PackageContents contents = testContents();
  Step &step = contents.programs[0].versions[0].program.steps[0];
  step.kind = Step::Kind::Library;
  step.symbol = "nosuch.routine";
  writeTestPackage(path, contents);
  EXPECT_CONTAINS(refusal(ErrorKind::Unsupported),
                  "test.hrpkg: step 'add_one': expected library routine 'nosuch.routine'");
}

TEST_F(PackageTest, FilesThatAreNoneAreNamed) {
  EXPECT_CONTAINS(refusal(ErrorKind::Io), "test.hrpkg: cannot open");
  writeBytes(path, std::as_bytes(std::span("PK\x03\x04 and then nothing of the kind at all")));
  EXPECT_CONTAINS(refusal(ErrorKind::InvalidFile), "its end is missing");
}

} // namespace
} // namespace headrace::test
