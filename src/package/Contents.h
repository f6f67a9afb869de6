// The contents of a package as plain data; the code of its kernels is elsewhere.
#pragma once

#include "runtime/program/Explanation.h"
#include "runtime/program/Program.h"
#include "runtime/system/Processor.h"

#include "adaptive/Graph.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// Values of a program's symbols, if they are fixed.
using Sizes = std::vector<std::optional<int64_t>>;

/// A program compiled for one CPU level and for certain sizes.
struct PackagedVersion {
  size_t code = 0; // index of its code in the package
  Sizes sizes;     // of the interface's symbols
  Program program; // its symbols are those that are not fixed
  ProgramNotes notes;
};

/// A program with all its versions.
struct PackagedProgram {
  /// Name, symbols, inputs and outputs; the sizes it takes, whether or not a version serves them.
  Program interface;
  std::vector<PackagedVersion> versions;
};

/// A variable that a script starts from or leaves: a matrix of doubles, or a number.
struct ScriptVariable {
  std::string name;
  bool isMatrix = true;
};

/// A segment of a script: a key for its computation, and the program that does it.
struct PackagedSegment {
  std::string key;
  PackagedProgram program;
};

/// A script with the code of its segments. Segments without code are computed by the runtime.
struct PackagedScript {
  std::string name;
  std::vector<ScriptVariable> inputs, outputs;
  /// All it reaches, by absolute names of their own; the first is the script.
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> scriptPath;
  std::vector<PackagedSegment> segments;
};

/// An input or output of a split model.
struct PackagedTensor {
  std::string name;
  DType dtype = DType::F32;
  /// -1 for a dynamic dimension.
  std::vector<int64_t> dims;
  /// Their names; "" if there is none. Dimensions of inputs with one name are equal.
  std::vector<std::string> dimNames;
};

/// A region of one of a split model's graphs, with the nodes that ran before and its program.
struct PackagedRegion {
  size_t graph = 0;
  adaptive::NodeSet done;
  std::shared_ptr<adaptive::Region> region; // its code is the program's
  PackagedProgram program;
};

/// A model that is split into several programs, with operators of the runtime between them.
struct PackagedSplitModel {
  std::string name;
  std::vector<PackagedTensor> inputs, outputs;
  /// The model's graph, and those inside of its nodes.
  std::vector<std::shared_ptr<adaptive::Graph>> graphs;
  std::vector<PackagedRegion> regions;
};

/// The contents of a package, except for code and weights.
struct PackageContents {
  std::string producer;             // "headrace 0.1.0"
  std::vector<ProcessorNeeds> code; // what each piece of code runs on
  /// For each piece of code for another engine, by its index: what its kernels on the host need.
  std::map<size_t, ProcessorNeeds> hostCode;
  std::vector<PackagedProgram> programs;
  std::vector<PackagedScript> scripts;
  std::vector<PackagedSplitModel> splitModels;
};

} // namespace headrace
