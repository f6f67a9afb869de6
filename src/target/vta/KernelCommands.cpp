#include "target/vta/KernelCommands.h"

#include "dialect/ConstantData.h"
#include "dialect/ConstantPool.h"
#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"
#include "runtime/vta/KernelCode.h"
#include "target/vta/OperatorAttribute.h"
#include "target/vta/ScheduleSources.h"
#include "target/vta/VtaDialect.h"
#include "target/vta/schedule/choose/ProposeSchedule.h"
#include "target/vta/schedule/choose/ScheduleReport.h"
#include "target/vta/schedule/write/OperatorBuffers.h"
#include "target/vta/schedule/write/WriteCommands.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace headrace::vta {

namespace {

/// Attribute of a scheduled kernel's module: its code.
constexpr StringLiteral kCodeAttr = "vta.code";

StringRef kindOf(const Operator &op) {
  if (std::holds_alternative<Convolution>(op.core))
    return "product";
  return std::holds_alternative<MaxPool>(op.core) ? "pooling" : "cells";
}

std::string textWithoutWeights(ModuleOp kernel) {
  NamedAttrList parts(kernel->getAttrOfType<DictionaryAttr>(kOperatorAttr));
  parts.erase("weights");
  parts.erase("name");
  std::string text;
  llvm::raw_string_ostream(text) << parts.getDictionary(kernel.getContext());
  return text;
}

std::string_view weightBytes(const Operator &op) {
  const auto *convolution = std::get_if<Convolution>(&op.core);
  if (!convolution)
    return "";
  const Tensor &weights = convolution->weights;
  return {static_cast<const char *>(weights.data()), weights.bytes()};
}

KernelCode written(Operator op, const Schedule &schedule, const Configuration &configuration) {
  op.name = "kernel"; // equal kernels are equal code
  CommandStream stream(configuration);
  OperatorBuffers buffers = allocateOperands(op, stream);
  write(op, schedule, stream, buffers.inputs, buffers.result);
  KernelCode code{stream.finish(), std::move(buffers.inputs)};
  code.operands.push_back(buffers.result);
  return code;
}

/// Its text as a constant, which goes when the program does.
ElementsAttr attributeOf(const KernelCode &code, MLIRContext *context) {
  auto text = std::make_shared<std::string>(toText(code));
  auto size = static_cast<int64_t>(text->size());
  auto type = RankedTensorType::get({size}, IntegerType::get(context, 8));
  Tensor bytes = Tensor::borrow(DType::I8, {size}, text->data(), text);
  return ConstantPool::of(context).addByContents(bytes, type);
}

struct AttachSchedulePass : PassWrapper<AttachSchedulePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttachSchedulePass)
  explicit AttachSchedulePass(const Configuration &configuration) : configuration(configuration) {}

  void runOnOperation() override {
    ModuleOp kernel = getOperation();
    Builder b(&getContext());
    Operator op = operatorOf(kernel);
    try {
      Schedule schedule = given(kernel, op);
      kernel->setAttr(kRecipeAttr, b.getStringAttr(textOf(schedule, op)));
      // Cycles are counted from the very commands that will run: they are written once.
      KernelCode code = written(op, schedule, configuration);
      kernel->setAttr(kCodeAttr, attributeOf(code, &getContext()));
      ScheduleReport report = reportOf(op, code.program);
      kernel->setAttr(kKindAttr, b.getStringAttr(kindOf(op)));
      kernel->setAttr(kCyclesAttr, b.getI64IntegerAttr(report.cycles));
      std::string share =
          op.macs() > 0 ? llvm::formatv(", {0:f1}% of peak", 100 * report.peakShare).str() : "";
      kernel->setAttr(kLoopsAttr,
                      b.getStringAttr(llvm::formatv("{0} cycles{1}", report.cycles, share).str()));
    } catch (const Error &error) {
      kernel.emitError(error.what());
      signalPassFailure();
    }
  }

private:
  /// The user's schedule if it can be followed; else one of ours, with the reason.
  Schedule given(ModuleOp kernel, const Operator &op) const {
    Builder b(kernel.getContext());
    if (auto recipe = kernel->getAttrOfType<StringAttr>(kRecipeAttr)) {
      std::string refusal;
      try {
        Schedule schedule = parseSchedule(recipe.getValue(), op);
        refusal = unsupportedReason(op, schedule, configuration);
        if (refusal.empty())
          return schedule;
      } catch (const Error &error) {
        refusal = error.what();
      }
      kernel->setAttr(kRecipeRefusedAttr, b.getStringAttr(refusal));
    }
    return proposed(kernel, op);
  }

  /// Proposals take long and follow from the operator and our sources alone: they are kept.
  Schedule proposed(ModuleOp kernel, const Operator &op) const {
    FileCache cache = FileCache::user("vta");
    std::string key = FileCache::key(
        {scheduleSources(), configuration.json(), textWithoutWeights(kernel), weightBytes(op)});
    if (std::optional<std::string> known = cache.find(key))
      try {
        Schedule schedule = parseSchedule(*known, op);
        if (unsupportedReason(op, schedule, configuration).empty())
          return schedule;
      } catch (const Error &) { // NOLINT(bugprone-empty-catch): of another version
      }
    Schedule schedule = propose(op, configuration);
    cache.store(key, textOf(schedule, op));
    return schedule;
  }

  Configuration configuration;
};

struct WriteCommandsPass : PassWrapper<WriteCommandsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WriteCommandsPass)
  explicit WriteCommandsPass(const Configuration &configuration) : configuration(configuration) {}

  void runOnOperation() override {
    ModuleOp kernel = getOperation();
    OpBuilder b = OpBuilder::atBlockEnd(kernel.getBody());
    Program program = kernelCodeOf(codeOf(kernel)).program;
    InstructionSet set(configuration);
    for (const Word &word : program.instructions)
      b.create<CommandOp>(kernel.getLoc(),
                          b.getStringAttr(set.disassemble(*set.decode(word).instruction)));
  }

  Configuration configuration;
};

} // namespace

std::unique_ptr<Pass> createWriteCommandsPass(const Configuration &configuration) {
  return std::make_unique<WriteCommandsPass>(configuration);
}

std::unique_ptr<Pass> createAttachSchedulePass(const Configuration &configuration) {
  return std::make_unique<AttachSchedulePass>(configuration);
}

std::string codeOf(ModuleOp kernel) {
  Tensor text = constantTensor(kernel->getAttrOfType<ElementsAttr>(kCodeAttr));
  return {static_cast<const char *>(text.data()), text.bytes()};
}

} // namespace headrace::vta
