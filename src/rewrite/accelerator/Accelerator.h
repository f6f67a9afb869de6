// A machine with intrinsics of its own, as a file describes it:
//
//   {"name": "vector-64", "element": "float16", "saturates": false, "accumulate": "float32",
//    "chip_bytes": 4194304,
//    "cost_per_byte": {"load": 0.0625, "store": 0.0625, "output": 0.0625},
//    "operators": [{"name": "MVMul", "sizes": [64, 64], "cost": 64},
//                  {"name": "VVAdd", "sizes": [64], "cost": 1}]}
//
// Values in all memories are of the element type; products accumulate in the type `accumulate`,
// each sum rounded, and are rounded to the element type at the end. Rounding is to nearest, ties to
// even.
#pragma once

#include "rewrite/accelerator/NumberFormat.h"
#include "rewrite/rule/Parse.h"

#include <filesystem>

namespace headrace::rewrite {

struct MachineOperator {
  std::string name;
  std::vector<int64_t> sizes;
  double cost = 0; ///< of one operation
};

struct Accelerator {
  std::string name;
  NumberFormat element, accumulate;
  int64_t chipBytes = 0;
  double loadCost = 0, storeCost = 0, outputCost = 0; ///< per byte, to the chip and from it
  std::vector<MachineOperator> operators;

  /// Throws Error at what a machine cannot be, by the name of what does not fit.
  static Accelerator read(const std::filesystem::path &path);
  static Accelerator parse(std::string_view json, const std::string &source);

  /// Null if it has none of that size.
  const MachineOperator *find(std::string_view name, std::span<const int64_t> sizes) const;
  /// Whether one of its operators applies this function of scalars.
  bool computes(std::string_view function) const;
  /// The rules with `for` once for each size there is, the others once.
  std::vector<RuleInstance> instancesOf(const RuleSet &rules, const Vocabulary &vocabulary) const;
};

} // namespace headrace::rewrite
