#include "runtime/cuda/Checks.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace headrace::cuda {

namespace {

struct Element {
  DType type;
  const char *load; // PTX's name of it in memory
  const char *registerType;
  int bytes;
};
constexpr std::array<Element, 8> elements = {{{DType::I8, "s8", "s16", 1},
                                              {DType::U8, "u8", "u16", 1},
                                              {DType::I16, "s16", "s16", 2},
                                              {DType::U16, "u16", "u16", 2},
                                              {DType::I32, "s32", "s32", 4},
                                              {DType::U32, "u32", "u32", 4},
                                              {DType::I64, "s64", "s64", 8},
                                              {DType::U64, "s64", "s64", 8}}};

// The values of `checked` that are faults: mode 0 outside [low, high), mode 1 equal to 0; not
// counting `excepted` if mode has 2.
constexpr int64_t modeDivisor = 1, modeExcepted = 2;

std::string functionName(DType type) { return "headrace_check_" + std::string(nameOf(type)); }

// Every thread looks for its first fault, the block for the first of those, and the thread that has
// it writes it into the record if it precedes the recorded one.
constexpr const char *functionText = R"(
.visible .entry $name(
  .param .u64 data, .param .u64 record, .param .u64 count, .param .u64 low, .param .u64 high,
  .param .u64 mode, .param .u64 excepted)
{
  .reg .pred %found, %p, %q;
  .reg .b16 %narrow;
  .reg .b32 %a, %b, %c;
  .reg .b64 %data, %record, %count, %low, %high, %mode, %excepted, %i, %step, %at, %value, %best;
  .shared .align 8 .u64 first;
  ld.param.u64 %data, [data];
  ld.param.u64 %record, [record];
  ld.param.u64 %count, [count];
  ld.param.u64 %low, [low];
  ld.param.u64 %high, [high];
  ld.param.u64 %mode, [mode];
  ld.param.u64 %excepted, [excepted];
  mov.u32 %a, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %c, %ntid.x;
  setp.eq.u32 %p, %a, 0;
  mov.u64 %best, -1;
  @%p st.shared.u64 [first], %best;
  mad.wide.u32 %i, %b, %c, 0;
  cvt.u64.u32 %at, %a;
  add.u64 %i, %i, %at;
  mov.u32 %b, %nctaid.x;
  mul.wide.u32 %step, %b, %c;
  setp.ne.u32 %found, %a, %a;
  bar.sync 0;
next:
  setp.ge.u64 %p, %i, %count;
  @%p bra searched;
  mad.lo.u64 %at, %i, $bytes, %data;
  $load
  and.b64 %at, %mode, 1;
  setp.ne.u64 %p, %at, 0;
  @%p bra divisor;
  setp.lt.s64 %found, %value, %low;
  setp.ge.or.s64 %found, %value, %high, %found;
  and.b64 %at, %mode, 2;
  setp.eq.u64 %p, %at, 0;
  @%p bra judged;
  setp.ne.and.s64 %found, %value, %excepted, %found;
  bra judged;
divisor:
  setp.eq.s64 %found, %value, 0;
judged:
  @%found bra searched;
  add.u64 %i, %i, %step;
  bra next;
searched:
  @%found atom.shared.min.u64 %at, [first], %i;
  bar.sync 0;
  ld.shared.u64 %best, [first];
  setp.eq.and.u64 %p, %best, %i, %found;
  @!%p bra end;
wait:
  atom.global.cas.b32 %a, [%record+40], 0, 1;
  setp.ne.u32 %p, %a, 0;
  @%p bra wait;
  membar.sys;
  ld.volatile.global.u64 %best, [%record];
  setp.ge.u64 %q, %i, %best;
  @%q bra release;
  st.volatile.global.u64 [%record+8], %value;
  st.volatile.global.u64 [%record+16], %low;
  st.volatile.global.u64 [%record+24], %high;
  st.volatile.global.u64 [%record+32], %count;
  membar.sys;
  st.volatile.global.u64 [%record], %i;
release:
  membar.sys;
  atom.global.exch.b32 %a, [%record+40], 0;
end:
  ret;
}
)";
static_assert(offsetof(CheckRecord, value) == 8 && offsetof(CheckRecord, low) == 16 &&
              offsetof(CheckRecord, high) == 24 && offsetof(CheckRecord, count) == 32 &&
              offsetof(CheckRecord, lock) == 40);

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string loadText(const Element &element) {
  std::string type = element.registerType;
  if (element.bytes == 8)
    return "ld.global.u64 %value, [%at];";
  std::string into = element.bytes == 4 ? "%a" : "%narrow";
  return "ld.global." + std::string(element.load) + " " + into + ", [%at];\n  cvt.s64." + type +
         " %value, " + into + ";";
}

LaunchParameter sizeOf(DimExpr size) {
  LaunchParameter parameter;
  parameter.kind = LaunchParameter::Kind::Size;
  parameter.size = std::move(size);
  return parameter;
}

LaunchParameter operand(int index) {
  LaunchParameter parameter;
  parameter.index = index;
  return parameter;
}

} // namespace

std::optional<DeviceImage> checkImage(const Program &program) {
  auto isUsed = [&](const Element &element) {
    return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step &step) {
      return isCheck(step) && checkLaunch(step).function == functionName(element.type);
    });
  };
  std::string text;
  for (const Element &element : elements) {
    if (!isUsed(element))
      continue;
    std::string function = functionText;
    replaceAll(function, "$name", functionName(element.type));
    replaceAll(function, "$bytes", std::to_string(element.bytes));
    replaceAll(function, "$load", loadText(element));
    text += function;
  }
  if (text.empty())
    return std::nullopt;
  return DeviceImage{checkImageName, ".version 7.0\n.target sm_70\n.address_size 64\n" + text};
}

Launch checkLaunch(const Step &step) {
  const std::vector<DimExpr> &given = step.parameters;
  // Numbers do not depend on sizes; dimensions are not looked at here.
  std::vector<int64_t> numbers;
  for (const DimExpr &parameter : given)
    numbers.push_back(parameter.asConstant().value_or(0));
  CheckStep read = readCheckStep(step, numbers);
  DimExpr count = DimExpr::constant(1);
  for (size_t i = given.size() - read.shape.size(); i < given.size(); ++i)
    count = count * given[i];
  int64_t mode = (read.check.kind == ValueCheck::Kind::Divisor ? modeDivisor : 0) |
                 (read.check.excepted ? modeExcepted : 0);
  constexpr int threads = 256;
  constexpr int64_t perThread = 4, maxBlocks = 1024;
  Launch launch;
  launch.function = functionName(read.type == DType::Bool ? DType::U8 : read.type);
  launch.block = {threads, 1, 1};
  launch.grid = {
      count.ceilDiv(DimExpr::constant(threads * perThread)).min(DimExpr::constant(maxBlocks)),
      DimExpr::constant(1), DimExpr::constant(1)};
  launch.parameters = {operand(0),       operand(1),       sizeOf(count),
                       sizeOf(given[1]), sizeOf(given[2]), sizeOf(DimExpr::constant(mode)),
                       sizeOf(given[4])};
  return launch;
}

CheckRecords::CheckRecords(const Device &device, const Program &program)
    : device(device), program(program) {
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (isCheck(program.steps[i]))
      steps.push_back(i);
  if (steps.empty())
    return;
  Current current(device);
  WhileRecording permitted;
  void *memory = nullptr;
  check(driver().cuMemHostAlloc(&memory, steps.size() * sizeof(CheckRecord),
                                CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "allocating memory for checks");
  records = static_cast<CheckRecord *>(memory);
  std::fill_n(records, steps.size(), CheckRecord());
}

CheckRecords::~CheckRecords() {
  if (!records)
    return;
  try {
    Current current(device);
    driver().cuMemFreeHost(records);
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): the driver may be gone
  }
}

void CheckRecords::raise(const DeviceBinding &binding) {
  auto isSet = [](const CheckRecord &record) {
    return *static_cast<const volatile uint64_t *>(&record.position) != CheckRecord::nothing;
  };
  CheckRecord *end = records + steps.size();
  if (!records || std::none_of(records, end, isSet))
    return;
  // The device may be writing still.
  Current current(device);
  driver().cuCtxSynchronize();
  CheckRecord *found = std::find_if(records, end, isSet);
  CheckRecord record = *found;
  size_t index = steps[static_cast<size_t>(found - records)];
  const Step &step = program.steps[index];
  std::fill(records, end, CheckRecord());

  CheckStep read = readCheckStep(step, binding.common.steps[index].parameters);
  read.check.low = record.low;
  read.check.high = record.high;
  // An earlier call may have had other sizes.
  std::array<int64_t, 1> flat = {record.count};
  throwViolation(read.check, {static_cast<int64_t>(record.position), record.value},
                 read.count == record.count ? read.shape : std::span<const int64_t>(flat));
}

} // namespace headrace::cuda
