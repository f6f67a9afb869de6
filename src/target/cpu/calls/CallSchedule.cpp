#include "target/cpu/calls/CallSchedule.h"

#include "runtime/library/Attention.h"
#include "runtime/library/Gemm.h"
#include "runtime/system/Error.h"
#include "transform/recipe/KernelModel.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr StringLiteral kStage = "call";
constexpr StringLiteral kRoutines[] = {"openblas.sgemm",
                                       "openblas.dgemm",
                                       "int8.gemm",
                                       "int8.packed_gemm",
                                       "int8.conv",
                                       "int8.packed_conv",
                                       "openblas.attention",
                                       "openblas.biased_attention",
                                       "openblas.lu.f32",
                                       "openblas.lu.f64",
                                       "openblas.cholesky.f32",
                                       "openblas.cholesky.f64",
                                       "sort.f32",
                                       "sort.f64",
                                       "sort.i32",
                                       "sort.i64"};
constexpr StringLiteral kProductBlocks[] = {"rows", "columns", "depth"};
constexpr StringLiteral kAttentionBlocks[] = {"queries", "keys"};
constexpr StringLiteral kLines[] = {"lines"}, kMatrices[] = {"matrices"};

constexpr StringLiteral kBytes = "int8.", kPacked = "packed_";

bool isOfBytes(StringRef routine) { return routine.starts_with(kBytes); }
bool isProduct(StringRef routine) { return routine.ends_with("gemm") && !isOfBytes(routine); }
bool isAttention(StringRef routine) { return routine.ends_with("attention"); }
bool isSort(StringRef routine) { return routine.starts_with("sort."); }
bool isPacked(StringRef routine) { return routine.drop_front(kBytes.size()).starts_with(kPacked); }

/// The variant of an int8 routine that takes unpacked weights.
std::string plainRoutine(StringRef routine) {
  StringRef rest = routine.drop_front(kBytes.size());
  rest.consume_front(kPacked);
  return (kBytes + rest).str();
}
std::string packedRoutine(StringRef routine) {
  return (kBytes + kPacked + StringRef(plainRoutine(routine)).drop_front(kBytes.size())).str();
}

/// Constant weights, which one matrix is for all of the batch.
bool hasConstantWeights(hr::LibraryOp call) {
  constexpr unsigned kStrideB = 7;
  return call.getInputs()[1].getDefiningOp<hr::ConstantOp>() &&
         constantValue(call.getParameters().getResult(kStrideB)) == 0;
}

/// The sizes of the product, 0 if they are dynamic, with these blocks.
Gemm cutProduct(hr::LibraryOp call, const CallSchedule &schedule) {
  auto size = [&](unsigned i) {
    return constantValue(call.getParameters().getResult(i)).value_or(0);
  };
  Gemm gemm{};
  gemm.batch = size(0);
  gemm.m = size(1);
  gemm.n = size(2);
  gemm.k = size(3);
  gemm.rowBlock = schedule.blocks[0];
  gemm.columnBlock = schedule.blocks[1];
  gemm.depthBlock = schedule.blocks[2];
  return gemm;
}

std::string refusalOfProduct(const CallSchedule &schedule, hr::LibraryOp call) {
  Gemm gemm = cutProduct(call, schedule);
  // Of dynamic dimensions nobody knows how much memory parts of sums would take.
  if (gemm.depthBlock && (gemm.batch == 0 || gemm.m == 0 || gemm.n == 0 || gemm.k == 0))
    return "depth: expected 0, since a dimension is dynamic";
  return refusalOfBlocks(gemm);
}

/// How large what a parameter cuts is, as far as it is known: blocks beyond that change nothing.
int64_t sizeThatIsCut(hr::LibraryOp call, unsigned parameter) {
  auto size = [&](unsigned i) {
    return constantValue(call.getParameters().getResult(i)).value_or(0);
  };
  StringRef routine = call.getRoutine();
  if (isProduct(routine))
    return size(1 + parameter);
  if (isAttention(routine))
    return size(2 + parameter);
  return isSort(routine) ? size(0) * size(2) : size(0);
}

/// Worth trying.
ArrayRef<int64_t> blocksToTry(StringRef routine) {
  static constexpr int64_t ofProducts[] = {0, 64, 128, 256, 512, 1024, 2048};
  static constexpr int64_t ofAttention[] = {0, 32, 64, 128, 256, 512, 1024};
  static constexpr int64_t ofOthers[] = {0, 1, 8, 64};
  return isProduct(routine)     ? ArrayRef<int64_t>(ofProducts)
         : isAttention(routine) ? ArrayRef<int64_t>(ofAttention)
                                : ArrayRef<int64_t>(ofOthers);
}

} // namespace

ArrayRef<StringLiteral> parametersOf(StringRef routine) {
  if (isOfBytes(routine))
    return {};
  if (isProduct(routine))
    return kProductBlocks;
  if (isAttention(routine))
    return kAttentionBlocks;
  return isSort(routine) ? ArrayRef(kLines) : ArrayRef(kMatrices);
}

ScheduleRecord CallSchedule::record() const {
  ScheduleRecord record{routine, {}};
  for (auto [name, block] : llvm::zip_equal(parametersOf(routine), blocks))
    record.parameters.emplace_back(name, block);
  return record;
}

CallSchedule CallSchedule::of(const ScheduleRecord &record) {
  CallSchedule schedule{record.kind, {}};
  for (const auto &[name, block] : record.parameters)
    schedule.blocks.push_back(block);
  return schedule;
}

std::string CallSchedule::line() const { return kStage.str() + ": " + record().text(); }

CallSchedule CallSchedule::parse(std::string_view text, const CallSchedule &proposed) {
  std::vector<ScheduleLine> lines =
      parseSchedules(text, {"a routine of a library", kRoutines, parametersOf});
  if (lines.size() != 1 || lines.front().stage != kStage)
    throw Error(ErrorKind::InvalidArgument, "expected one line such as '" + proposed.line() + "'");
  CallSchedule schedule = proposed;
  schedule.routine = lines.front().kind;
  ArrayRef<StringLiteral> names = parametersOf(schedule.routine);
  schedule.blocks.resize(names.size());
  for (const auto &[name, value] : lines.front().parameters)
    schedule.blocks[llvm::find(names, name) - names.begin()] = value;
  return schedule;
}

bool hasSchedule(hr::LibraryOp call) { return llvm::is_contained(kRoutines, call.getRoutine()); }

CallSchedule proposeFor(hr::LibraryOp call) {
  CallSchedule schedule{call.getRoutine().str(), {}};
  schedule.blocks.resize(parametersOf(call.getRoutine()).size());
  if (isOfBytes(schedule.routine) && hasConstantWeights(call))
    schedule.routine = packedRoutine(schedule.routine);
  return schedule;
}

std::string refusalOf(const CallSchedule &schedule, hr::LibraryOp call) {
  StringRef own = call.getRoutine();
  if (isOfBytes(own)) {
    std::string plain = plainRoutine(own), packed = packedRoutine(own);
    if (schedule.routine != plain && schedule.routine != packed)
      return "expected " + packed + " or " + plain;
    return schedule.routine == packed && !isPacked(own) && !hasConstantWeights(call)
               ? "expected " + plain + ", since the weights are not constant"
               : "";
  }
  if (schedule.routine != own)
    return "expected " + own.str() + ", which computes with its type";
  if (isProduct(own))
    return refusalOfProduct(schedule, call);
  if (!isAttention(own))
    return ""; // any number of lines or matrices
  Attention attention{};
  attention.queryBlock = schedule.blocks[0];
  attention.keyBlock = schedule.blocks[1];
  return refusalOfBlocks(attention);
}

namespace {

class CallSpace final : public ScheduleSpace {
public:
  CallSpace(hr::LibraryOp call, CallSchedule own) : call(call), own(std::move(own)) {}

  std::string stage() const override { return kStage.str(); }
  ScheduleRecord proposed() const override { return own.record(); }

  std::vector<ScheduleRecord> otherKinds() const override {
    if (!isOfBytes(own.routine) || !isPacked(own.routine))
      return {};
    return {CallSchedule{plainRoutine(own.routine), {}}.record()};
  }

  std::vector<int64_t> domainOf(const ScheduleRecord &schedule,
                                std::string_view parameter) const override {
    std::vector<int64_t> domain;
    CallSchedule other = CallSchedule::of(schedule);
    ArrayRef<StringLiteral> names = parametersOf(schedule.kind);
    auto index = static_cast<unsigned>(llvm::find(names, StringRef(parameter)) - names.begin());
    if (index == names.size())
      return domain;
    int64_t size = sizeThatIsCut(call, index), value = other.blocks[index];
    for (int64_t block : blocksToTry(own.routine)) {
      other.blocks[index] = block;
      bool cutsNothing = size > 0 && block >= size;
      if (block == value || (!cutsNothing && refusalOf(other, call).empty()))
        domain.push_back(block);
    }
    return domain;
  }

  std::string unsupportedReason(const ScheduleRecord &schedule) const override {
    return refusalOf(CallSchedule::of(schedule), call);
  }

private:
  mutable hr::LibraryOp call;
  CallSchedule own;
};

} // namespace

std::unique_ptr<ScheduleSpace> spaceOf(hr::LibraryOp call) {
  auto text = call->getAttrOfType<StringAttr>(kRecipeAttr);
  if (!hasSchedule(call) || !text)
    return nullptr;
  return std::make_unique<CallSpace>(call, CallSchedule::parse(text.getValue(), proposeFor(call)));
}

} // namespace headrace
