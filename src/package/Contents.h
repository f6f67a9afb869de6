// What a package holds, as plain data; the code of its kernels is elsewhere.
#pragma once

#include "runtime/Explanation.h"
#include "runtime/Processor.h"
#include "runtime/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// Values of a program's symbols, where they are fixed.
using Sizes = std::vector<std::optional<int64_t>>;

/// A program compiled for one processor level and for certain sizes.
struct PackagedVersion {
  size_t code = 0; // index of its code in the package
  Sizes sizes;     // of the interface's symbols
  Program program; // its symbols are those that are open
  ProgramNotes notes;
};

/// A program with all its versions.
struct PackagedProgram {
  /// Name, symbols, inputs and outputs; the sizes it takes, whether or not a version serves them.
  Program interface;
  std::vector<PackagedVersion> versions;
};

struct PackageContents {
  std::string producer;             // "headrace 0.1.0"
  std::vector<ProcessorNeeds> code; // what each piece of code runs on
  std::vector<PackagedProgram> programs;
};

} // namespace headrace
