// The code of a package in the process.
#pragma once

#include "package/CodeFormat.h"
#include "package/Zip.h"

#include <memory>
#include <string>
#include <unordered_map>

namespace headrace {

class Code {
public:
  /// Loads a shared object out of memory. Throws Error naming `source` where that is no code for
  /// this machine.
  static std::shared_ptr<const Code> load(Bytes object, const std::string &source);
  /// Reads the images of a device, as imagesToText writes them.
  static std::shared_ptr<const Code> loadImages(Bytes text, const std::string &source);
  /// Code that is linked into the process.
  static std::shared_ptr<const Code> linked(const CodeTable &table, const std::string &source);
  ~Code();
  Code(const Code &) = delete;

  /// Null where there is none of that name.
  KernelFn find(const std::string &kernel) const;

  /// Whether its kernels are for a device.
  bool isForDevice() const { return forDevice; }
  /// The images that the program's steps need. Throws Error where one is missing.
  std::vector<DeviceImage> imagesFor(const Program &program, const std::string &source) const;

private:
  Code() = default;
  void readTable(const CodeTable &table, const std::string &source);

  void *handle = nullptr;
  int descriptor = -1;
  bool forDevice = false;
  std::unordered_map<std::string, DeviceImage> images;
  std::unordered_map<std::string, KernelFn> kernels;
};

/// Images of a device as a file of a package: JSON, a list of names and texts.
std::string imagesToText(const std::vector<DeviceImage> &images);

} // namespace headrace
