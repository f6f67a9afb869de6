// Classifies handwritten digits with a package, in a program that knows nothing of the compiler.
//
//   headrace compile examples/digits/digits.onnx -o digits.hrpkg
//   g++ -std=c++17 examples/cpp/classify.cpp -Iinclude -Lbuild/release/lib -lheadrace_runtime -o
//   classify LD_LIBRARY_PATH=build/release/lib ./classify digits.hrpkg
//   examples/digits/held_back_images.npy
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <headrace/headrace.hpp>
#include <iterator>
#include <string>

// The floats of a .npy file of one type and shape, n x 1 x 8 x 8, that we wrote ourselves.
static std::vector<float> readImages(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0)
    throw std::runtime_error(path + ": expected a .npy file");
  size_t header =
      10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  std::vector<float> values((bytes.size() - header) / sizeof(float));
  std::copy_n(bytes.data() + header, values.size() * sizeof(float),
              reinterpret_cast<char *>(values.data()));
  return values;
}

int main(int argc, char **argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: classify PACKAGE IMAGES.npy\n");
    return 2;
  }
  headrace::Package package(argv[1]);
  headrace::Program digits = package.program();
  std::vector<float> images = readImages(argv[2]);
  auto count = static_cast<int64_t>(images.size() / 64);

  headrace::Result result = digits.run({headrace::Input(images.data(), {count, 1, 8, 8})});
  const float *logits = result.data<float>(0);
  for (int64_t i = 0; i < count; ++i, logits += 10)
    std::printf("%td\n", std::max_element(logits, logits + 10) - logits);
} catch (const std::exception &error) {
  std::fprintf(stderr, "classify: %s\n", error.what());
  return 1;
}
