#include "target/cuda/schedule/Schedule.h"

#include "mlir/IR/Builders.h"

#include <array>

using namespace mlir;

namespace headrace::cuda {
namespace {

struct Field {
  llvm::StringLiteral name;
  int64_t Schedule::*value;
};
constexpr Field kFields[] = {
    {"threads", &Schedule::threads}, {"vector", &Schedule::vector},   {"lanes", &Schedule::lanes},
    {"held", &Schedule::held},       {"splits", &Schedule::splits},   {"along", &Schedule::along},
    {"tileM", &Schedule::tileM},     {"tileN", &Schedule::tileN},     {"tileK", &Schedule::tileK},
    {"threadM", &Schedule::threadM}, {"threadN", &Schedule::threadN}, {"stages", &Schedule::stages},
    {"blocks", &Schedule::blocks},   {"padded", &Schedule::padded},
};
constexpr std::array<llvm::StringLiteral, 7> kKinds = {
    "points", "rows", "columns", "tiles", "product", "tensorcores", "warpgroups"};

constexpr llvm::StringLiteral kPointParameters[] = {"threads", "vector"};
constexpr llvm::StringLiteral kRowParameters[] = {"threads", "vector", "lanes", "held"};
constexpr llvm::StringLiteral kColumnParameters[] = {"threads", "vector", "lanes", "splits"};
constexpr llvm::StringLiteral kTileParameters[] = {"threads", "along"};
constexpr llvm::StringLiteral kProductParameters[] = {"threads", "splits",  "tileM",  "tileN",
                                                      "tileK",   "threadM", "threadN"};
constexpr llvm::StringLiteral kWarpgroupParameters[] = {"threads", "tileM",  "tileN", "tileK",
                                                        "stages",  "blocks", "padded"};

} // namespace

ArrayRef<llvm::StringLiteral> Schedule::kindNames() { return kKinds; }

std::optional<Schedule::Kind> Schedule::kindNamed(StringRef name) {
  const auto *found = llvm::find(kKinds, name);
  if (found == kKinds.end())
    return std::nullopt;
  return static_cast<Kind>(found - kKinds.begin());
}

ArrayRef<llvm::StringLiteral> Schedule::parametersOf(Kind kind) {
  switch (kind) {
  case Kind::Points:
    return kPointParameters;
  case Kind::Rows:
    return kRowParameters;
  case Kind::Columns:
    return kColumnParameters;
  case Kind::Tiles:
    return kTileParameters;
  case Kind::Product:
  case Kind::TensorCores:
    return kProductParameters;
  case Kind::Warpgroups:
    return kWarpgroupParameters;
  }
  llvm_unreachable("no such schedule");
}

int64_t &Schedule::parameter(StringRef name) {
  for (const Field &field : kFields)
    if (field.name == name)
      return this->*field.value;
  llvm_unreachable("no such parameter");
}

ScheduleRecord Schedule::record() const {
  ScheduleRecord record{kKinds[static_cast<size_t>(kind)].str(), {}};
  Schedule copy = *this;
  for (StringRef name : parametersOf(kind))
    record.parameters.emplace_back(name, copy.parameter(name));
  return record;
}

Schedule Schedule::of(const ScheduleRecord &record, Schedule base) {
  base.kind = *kindNamed(record.kind);
  for (const auto &[name, value] : record.parameters)
    base.parameter(name) = value;
  return base;
}

bool GivenSchedule::has(StringRef parameter) const {
  return llvm::any_of(parameters, [&](const auto &given) { return given.first == parameter; });
}

std::string GivenSchedule::text() const {
  return ScheduleRecord{kKinds[static_cast<size_t>(kind)].str(), parameters}.text();
}

DictionaryAttr Schedule::attribute(MLIRContext *context) const {
  Builder b(context);
  SmallVector<NamedAttribute> entries{
      b.getNamedAttr("kind", b.getStringAttr(kKinds[static_cast<size_t>(kind)]))};
  for (const Field &field : kFields)
    if (this->*field.value != Schedule().*field.value || field.value == &Schedule::threads)
      entries.push_back(b.getNamedAttr(field.name, b.getI64IntegerAttr(this->*field.value)));
  return b.getDictionaryAttr(entries);
}

std::optional<Schedule> Schedule::of(Operation *op) {
  auto record = op->getAttrOfType<DictionaryAttr>(kScheduleAttr);
  if (!record)
    return std::nullopt;
  Schedule schedule;
  schedule.kind = *kindNamed(record.getAs<StringAttr>("kind").getValue());
  for (const Field &field : kFields)
    if (auto value = record.getAs<IntegerAttr>(field.name))
      schedule.*field.value = value.getInt();
  return schedule;
}

} // namespace headrace::cuda
