// The manifest of a package: its contents as JSON, and where code and weights are.
#pragma once

#include "package/Contents.h"
#include "package/Zip.h"

#include <functional>

namespace headrace {

inline constexpr char manifestFile[] = "manifest.json";
inline constexpr char weightsFile[] = "weights.bin";

/// The newest format that can be read, and that of packages with split models. Packages whose
/// programs have steps of other engines than the host's are of the second, all others of the first.
inline constexpr int64_t packageFormat = 3;

/// Where the code of a package is, for packages that are files of their own.
struct CodeFile {
  std::string name;
  uint64_t bytes = 0;
  std::string checksum;
};

struct PackageParts {
  std::string manifest;
  /// One after the other they are the weights; they stay in the contents' memory.
  std::vector<Bytes> weights;
};

/// The manifest and weights of these contents; equal weights are kept once. `code` is empty if
/// the code is linked into a program, else as long as `contents.code`; `hostCode` is that of
/// `contents.hostCode`. `contents` and the result must live until the parts are written.
PackageParts makeParts(const PackageContents &contents, std::span<const CodeFile> code,
                       const std::map<size_t, CodeFile> &hostCode = {});

/// A manifest that was read: everything but the versions for other CPUs.
struct Manifest {
  PackageContents contents;
  std::vector<CodeFile> code;          // as long as contents.code, or empty
  std::map<size_t, CodeFile> hostCode; // of contents.hostCode
  size_t chosen = 0;                   // the code to use
};

/// Chooses the best of the code that runs here; throws Error if there is none.
using ChooseCode = std::function<size_t(const std::vector<ProcessorNeeds> &)>;

/// Reads and checks the manifest; weights are checked and used in place, kept alive by `owner`.
/// Throws Error naming `source`.
Manifest readManifest(Bytes text, Bytes weights, std::shared_ptr<const void> owner,
                      const std::string &source, const ChooseCode &choose);

} // namespace headrace
