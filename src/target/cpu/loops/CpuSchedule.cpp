#include "target/cpu/loops/CpuSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <array>

namespace headrace {
namespace {

struct Field {
  llvm::StringLiteral name;
  int64_t CpuSchedule::*value;
};
constexpr Field kFields[] = {
    {"vector", &CpuSchedule::vector},     {"cell", &CpuSchedule::cell},
    {"rows", &CpuSchedule::rows},         {"columns", &CpuSchedule::columns},
    {"cells", &CpuSchedule::cells},       {"pack", &CpuSchedule::pack},
    {"features", &CpuSchedule::features}, {"prefetch", &CpuSchedule::prefetch},
    {"depth", &CpuSchedule::depth},       {"order", &CpuSchedule::order},
    {"blocks", &CpuSchedule::blocks},     {"block", &CpuSchedule::block},
};
constexpr std::array<llvm::StringLiteral, 6> kKinds = {"plain", "points", "transposed",
                                                       "rows",  "tiles",  "walk"};
constexpr llvm::StringLiteral kPlain[] = {"cells"}, kPoints[] = {"vector", "cell"},
                              kRows[] = {"vector"},
                              kTiles[] = {"rows",     "columns",  "cells", "pack",
                                          "features", "prefetch", "depth", "order"},
                              kWalk[] = {"rows", "prefetch", "blocks", "block"};

int64_t CpuSchedule::*fieldNamed(llvm::StringRef name) {
  for (const Field &field : kFields)
    if (field.name == name)
      return field.value;
  llvm_unreachable("no such parameter");
}

} // namespace

llvm::ArrayRef<llvm::StringLiteral> CpuSchedule::kindNames() { return kKinds; }

llvm::ArrayRef<llvm::StringLiteral> CpuSchedule::parametersOf(Kind kind) {
  switch (kind) {
  case Kind::Plain:
    return kPlain;
  case Kind::Points:
    return kPoints;
  case Kind::Transposed:
    return {};
  case Kind::Rows:
    return kRows;
  case Kind::Tiles:
    return kTiles;
  case Kind::Walk:
    return kWalk;
  }
  llvm_unreachable("no such schedule");
}

CpuSchedule::Kind CpuSchedule::kindNamed(llvm::StringRef name) {
  return static_cast<Kind>(llvm::find(kKinds, name) - kKinds.begin());
}

int64_t &CpuSchedule::parameter(llvm::StringRef name) { return this->*fieldNamed(name); }
int64_t CpuSchedule::parameter(llvm::StringRef name) const { return this->*fieldNamed(name); }

ScheduleRecord CpuSchedule::record() const {
  ScheduleRecord record{kKinds[static_cast<size_t>(kind)].str(), {}};
  for (llvm::StringRef name : parametersOf(kind))
    record.parameters.emplace_back(name, parameter(name));
  return record;
}

CpuSchedule CpuSchedule::of(const ScheduleRecord &record) {
  CpuSchedule schedule;
  schedule.kind = kindNamed(record.kind);
  schedule.take(record);
  return schedule;
}

std::vector<ScheduleLine> CpuSchedule::parse(std::string_view text) {
  auto parameters = [](llvm::StringRef kind) { return parametersOf(kindNamed(kind)); };
  return parseSchedules(text, {"a kind of schedule", kKinds, parameters});
}

void CpuSchedule::take(const ScheduleRecord &given) {
  for (const auto &[name, value] : given.parameters)
    parameter(name) = value;
}

} // namespace headrace
