// Kernel objects to shared objects and images of packages, linked in process.
#pragma once

#include "target/Target.h"

#include <span>

namespace headrace {

/// The kernels of one CPU as the shared object of a package. It needs no library, and shows
/// one symbol: its table (package/CodeFormat.h).
std::string linkKernels(llvm::ArrayRef<KernelObject> kernels);

/// A package as part of a program.
struct ImageParts {
  std::string symbol;                             // the image's name in C
  std::vector<llvm::ArrayRef<KernelObject>> code; // in the manifest's order
  llvm::StringRef manifest;
  std::vector<std::span<const std::byte>> weights; // one after the other
};
enum class ImageKind { SharedObject, Object };

/// The image in one object, which shows no symbol but its own.
std::string linkImage(const ImageParts &parts, ImageKind kind);

/// A static library of one object.
std::string makeArchive(llvm::StringRef object, llvm::StringRef name);

} // namespace headrace
