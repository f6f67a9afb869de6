#include "tensors/OutputFiles.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/Npy.h"

#include "terminal/Interrupt.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace headrace::cli {

namespace fs = std::filesystem;

namespace {

// Names come from the model: they must not lead out of the directory, or make hidden files.
std::string harmless(std::string_view name) {
  constexpr size_t maxLength = 200;
  std::string clean;
  for (char c : name.substr(0, maxLength)) {
    auto byte = static_cast<unsigned char>(c);
    bool kept = std::isalnum(byte) || c == '-' || c == '_' || (c == '.' && !clean.empty());
    clean += kept ? c : '_';
  }
  return clean.empty() ? "output" : clean;
}

void makeFolder(const fs::path &folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    throw Error(ErrorKind::Io,
                fmt::format("--output {}: cannot create the directory: {}", folder.string(),
                            error ? error.message() : "a file has that name"));
}

} // namespace

std::vector<std::string> outputFileNames(std::span<const TensorSpec> outputs) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const TensorSpec &output : outputs) {
    std::string base = harmless(output.name), name = base;
    for (int n = 2; !taken.insert(name).second; ++n)
      name = fmt::format("{}-{}", base, n);
    names.push_back(name + ".npy");
  }
  return names;
}

std::vector<fs::path> writeOutputs(const fs::path &folder, std::span<const TensorSpec> specs,
                                   std::span<const Tensor> outputs) {
  Uninterrupted section;
  makeFolder(folder);
  std::vector<fs::path> paths;
  for (const std::string &name : outputFileNames(specs))
    paths.push_back(folder / name);
  for (size_t i = 0; i < outputs.size(); ++i)
    writeNpy(paths[i], outputs[i]);
  return paths;
}

} // namespace headrace::cli
