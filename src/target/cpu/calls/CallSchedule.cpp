#include "target/cpu/calls/CallSchedule.h"

#include "runtime/library/Gemm.h"
#include "runtime/system/Error.h"
#include "transform/recipe/KernelModel.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr StringLiteral kStage = "call";
constexpr StringLiteral kRoutines[] = {"openblas.sgemm",   "openblas.dgemm", "int8.gemm",
                                       "int8.packed_gemm", "int8.conv",      "int8.packed_conv"};
constexpr StringLiteral kBlocks[] = {"rows", "columns", "depth"};

constexpr StringLiteral kBytes = "int8.", kPacked = "packed_";

bool isOfBytes(StringRef routine) { return routine.starts_with(kBytes); }
bool isPacked(StringRef routine) { return routine.drop_front(kBytes.size()).starts_with(kPacked); }

/// Of a routine of bytes, the one that takes weights as they are.
std::string plainRoutine(StringRef routine) {
  StringRef rest = routine.drop_front(kBytes.size());
  rest.consume_front(kPacked);
  return (kBytes + rest).str();
}
std::string packedRoutine(StringRef routine) {
  return (kBytes + kPacked + StringRef(plainRoutine(routine)).drop_front(kBytes.size())).str();
}

ArrayRef<StringLiteral> parametersOf(StringRef routine) {
  return isOfBytes(routine) ? ArrayRef<StringLiteral>() : ArrayRef(kBlocks);
}

int64_t CallSchedule::*fieldNamed(StringRef name) {
  return name == "rows"      ? &CallSchedule::rows
         : name == "columns" ? &CallSchedule::columns
                             : &CallSchedule::depth;
}

/// Constant weights, which one matrix is for all of the batch.
bool hasConstantWeights(hr::LibraryOp call) {
  constexpr unsigned kStrideB = 7;
  return call.getInputs()[1].getDefiningOp<hr::ConstantOp>() &&
         constantValue(call.getParameters().getResult(kStrideB)) == 0;
}

/// The sizes of the product, 0 where they are open, with these blocks.
Gemm cutProduct(hr::LibraryOp call, const CallSchedule &schedule) {
  auto size = [&](unsigned i) {
    return constantValue(call.getParameters().getResult(i)).value_or(0);
  };
  Gemm gemm{};
  gemm.batch = size(0);
  gemm.m = size(1);
  gemm.n = size(2);
  gemm.k = size(3);
  gemm.rowBlock = schedule.rows;
  gemm.columnBlock = schedule.columns;
  gemm.depthBlock = schedule.depth;
  return gemm;
}

} // namespace

std::string CallSchedule::line() const {
  std::string text = kStage.str() + ": " + routine;
  for (StringRef name : parametersOf(routine))
    text += " " + name.str() + "=" + std::to_string(this->*fieldNamed(name));
  return text;
}

CallSchedule CallSchedule::parse(std::string_view text, const CallSchedule &proposed) {
  std::vector<ScheduleLine> lines =
      parseSchedules(text, {"a routine of a library", kRoutines, parametersOf});
  if (lines.size() != 1 || lines.front().stage != kStage)
    throw Error(ErrorKind::InvalidArgument, "expected one line such as '" + proposed.line() + "'");
  CallSchedule schedule = proposed;
  schedule.routine = lines.front().kind;
  for (const auto &[name, value] : lines.front().parameters)
    schedule.*fieldNamed(name) = value;
  return schedule;
}

bool hasSchedule(hr::LibraryOp call) { return llvm::is_contained(kRoutines, call.getRoutine()); }

CallSchedule proposeFor(hr::LibraryOp call) {
  CallSchedule schedule{call.getRoutine().str()};
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
  Gemm gemm = cutProduct(call, schedule);
  // Of open sizes nobody knows how much memory parts of sums would take.
  if (schedule.depth && (gemm.batch == 0 || gemm.m == 0 || gemm.n == 0 || gemm.k == 0))
    return "depth: expected 0, since sizes are open";
  return refusalOfBlocks(gemm);
}

std::vector<CallSchedule> alternativesOf(hr::LibraryOp call) {
  std::vector<CallSchedule> result;
  auto text = call->getAttrOfType<StringAttr>(kRecipeAttr);
  if (!hasSchedule(call) || !text)
    return result;
  CallSchedule own = CallSchedule::parse(text.getValue(), proposeFor(call));
  if (isOfBytes(own.routine) && isPacked(own.routine)) {
    result.push_back(own);
    result.back().routine = plainRoutine(own.routine);
    return result;
  }
  Gemm sizes = cutProduct(call, own);
  for (auto [name, size] :
       {std::pair(kBlocks[0], sizes.m), {kBlocks[1], sizes.n}, {kBlocks[2], sizes.k}})
    for (int64_t block : {0, 64, 128, 256, 512, 1024, 2048}) {
      CallSchedule other = own;
      other.*fieldNamed(name) = block;
      bool isCut = parametersOf(own.routine).empty() || (size > 0 && block >= size);
      if (!isCut && block != own.*fieldNamed(name) && refusalOf(other, call).empty())
        result.push_back(other);
    }
  return result;
}

} // namespace headrace
