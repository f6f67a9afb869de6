#include "target/cuda/Schedule.h"

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

} // namespace

std::string Schedule::text() const {
  std::string text = kKinds[static_cast<size_t>(kind)].str();
  for (const Field &field : kFields)
    if (this->*field.value != Schedule().*field.value || field.value == &Schedule::threads)
      text += " " + field.name.str() + "=" + std::to_string(this->*field.value);
  return text;
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
  StringRef kind = record.getAs<StringAttr>("kind").getValue();
  schedule.kind = static_cast<Kind>(llvm::find(kKinds, kind) - kKinds.begin());
  for (const Field &field : kFields)
    if (auto value = record.getAs<IntegerAttr>(field.name))
      schedule.*field.value = value.getInt();
  return schedule;
}

} // namespace headrace::cuda
