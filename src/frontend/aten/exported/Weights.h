// Parameters, buffers and constants of an exported program, by their names in the module.
#pragma once

#include "frontend/aten/exported/Archive.h"
#include "frontend/aten/exported/Json.h"
#include "runtime/tensor/Tensor.h"

#include <memory>

namespace headrace::aten {

class Weights {
public:
  /// `owner` keeps the archive's memory.
  Weights(const Archive &archive, std::shared_ptr<const void> owner);

  /// In place if the elements are contiguous and aligned. Throws Error if there is none of that
  /// name, or it is pickled.
  Tensor find(const std::string &name) const;

private:
  void addConfig(const std::string &directory, const std::string &file);

  struct Entry {
    std::string directory;
    Json meta;
  };
  const Archive &archive;
  std::shared_ptr<const void> owner;
  std::map<std::string, Entry> entries;
};

} // namespace headrace::aten
