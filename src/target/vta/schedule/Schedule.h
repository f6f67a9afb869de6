// How an operator is computed on the accelerator: the tile of results that is on the chip at a
// time, what of the operands stays there, and the virtual threads that hide transfers. A record of
// a few numbers which a tuner varies, and lines of a recipe that say the same:
//
//   tile batch=1 rows=7 columns=14 out=4 in=2
//   keep weights
//   cache_read x in inp
//   cache_read w in wgt
//   cache_write y in acc
//   tensorize gemm
//   vthread 2 along rows
#pragma once

#include "target/vta/schedule/Operator.h"

#include "schedule/Schedule.h"
#include <string_view>

namespace headrace::vta {

struct Schedule {
  /// The loop whose neighbouring tiles two virtual threads have. Along `In`, they take turns with
  /// the steps of one tile; along the others each has a tile, and both have what the tiles share
  /// (weights along batch, rows and columns, inputs along out) from one load.
  enum class Along { In, Out, Batch, Rows, Columns };
  /// The operand that stays on the chip while the other passes by: tiles follow each other along
  /// results of the same weights, or of the same inputs.
  enum class Keep { Weights, Inputs };

  // The tile: blocks of the batch, rows and columns of results, blocks of output channels; and
  // blocks of input channels that are multiplied at a time (1 if nothing is).
  int64_t batch = 1, rows = 1, columns = 1, out = 1, in = 1;
  int64_t threads = 1; ///< 1 or 2
  Along along = Along::In;
  Keep keep = Keep::Weights;

  bool operator==(const Schedule &) const = default;

  /// "batch", "rows", "columns", "out", "in", "threads", "along", "keep", of which the last two are
  /// numbers of their enumerations.
  static std::vector<std::string_view> parameterNames();
  int64_t parameter(std::string_view name) const;
  void setParameter(std::string_view name, int64_t value);

  /// A record of kind "tile".
  ScheduleRecord record() const;
  static Schedule of(const ScheduleRecord &record);
};

/// The lines of its recipe: they end with a line feed each.
std::string textOf(const Schedule &schedule, const Operator &op);
/// The schedule that a text gives; `#` begins a comment. Throws Error with the line and what is
/// wrong with it. Whether it fits the chip is another question.
Schedule parseSchedule(std::string_view text, const Operator &op);

} // namespace headrace::vta
