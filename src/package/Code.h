// The code of a package in the process.
#pragma once

#include "package/CodeFormat.h"
#include "package/Zip.h"
#include "runtime/program/ProgramRunner.h"

#include <memory>
#include <string>
#include <unordered_map>

namespace headrace {

/// Loaded code of a package: a shared object, or images of another engine.
class Code : public std::enable_shared_from_this<Code> {
public:
  /// Loads a shared object from memory. Throws Error naming `source` if it is not code for this
  /// machine.
  static std::shared_ptr<const Code> load(Bytes object, const std::string &source);
  /// Reads the images of another engine, as imagesToText writes them; `host` has the kernels that
  /// the host runs next to it, and may be null.
  static std::shared_ptr<const Code> loadImages(Bytes text, std::shared_ptr<const Code> host,
                                                const std::string &source);
  /// Code that is linked into the process.
  static std::shared_ptr<const Code> linked(const CodeTable &table, const std::string &source);
  ~Code();
  Code(const Code &) = delete;

  /// Whether all its kernels are functions of the process.
  bool isLoaded() const { return !hasImages; }
  /// The code that the program's steps need. Throws Error if some is missing.
  ProgramCode codeFor(const Program &program, const std::string &source) const;

private:
  Code() = default;
  void readTable(const CodeTable &table, const std::string &source);
  /// Null if there is none of that name.
  KernelFn find(const std::string &kernel) const;

  void *handle = nullptr;
  int descriptor = -1;
  bool hasImages = false;
  std::shared_ptr<const Code> host;
  std::unordered_map<std::string, DeviceImage> images;
  std::unordered_map<std::string, KernelFn> kernels;
};

/// Images of an engine as a file of a package: JSON, a list of names and texts.
std::string imagesToText(const std::vector<DeviceImage> &images);

} // namespace headrace
