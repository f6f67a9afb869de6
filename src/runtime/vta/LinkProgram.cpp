#include "runtime/vta/LinkProgram.h"

#include "runtime/system/Error.h"
#include "runtime/system/Json.h"
#include "runtime/system/Rounding.h"
#include "runtime/vta/KernelCode.h"
#include "runtime/vta/VtaEngine.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace headrace::vta {

namespace {

/// A kernel, and where its constants and micro-ops are in the DRAM of all.
struct Placed {
  KernelCode code;
  std::map<size_t, size_t> weights; ///< buffers of the program by those of the kernel
  uint64_t firstMicroOp = 0;
};

class Linker {
public:
  Linker(const headrace::Program &given, std::span<const DeviceImage> images)
      : given(given), images(images) {}

  Program link() {
    std::vector<const headrace::Step *> steps;
    for (const headrace::Step &step : given.steps)
      if (step.kind != headrace::Step::Kind::Transfer)
        steps.push_back(&step);
    auto isOwn = [](const headrace::Step *step) { return step->engine == vtaEngine().name(); };
    auto first = std::ranges::find_if(steps, isOwn);
    if (first == steps.end())
      throw Error(ErrorKind::InvalidArgument,
                  given.name + ": expected a step that the accelerator runs, got none");
    auto last = std::find_if(steps.rbegin(), steps.rend(), isOwn);
    steps = {first, last.base()};
    for (const headrace::Step *step : steps)
      if (isOwn(step))
        place(*step);
    appendMicroOps();
    for (const headrace::Step *step : steps)
      if (isOwn(step))
        addRun(*step);
      else
        program.steps.push_back({true, 0, 0, step->name});
    return std::move(program);
  }

private:
  void place(const headrace::Step &step) {
    const KernelCode &code = placed(step).code;
    for (size_t i = 0; i < code.operands.size(); ++i)
      (void)bufferOf(static_cast<size_t>(step.operands[i]), code.program.buffers[code.operands[i]]);
  }

  Placed &placed(const headrace::Step &step) {
    auto [entry, isNew] = kernels.try_emplace(step.symbol);
    if (!isNew)
      return entry->second;
    auto image = std::ranges::find(images, step.symbol, &DeviceImage::name);
    if (image == images.end())
      throw InternalError("step '" + step.name + "' has no code");
    Placed &kernel = entry->second;
    try {
      kernel.code = kernelCodeOf(image->text);
    } catch (const JsonFault &fault) {
      throw InternalError("kernel '" + image->name + "': " + fault.what());
    }
    Program &own = kernel.code.program;
    program.configuration = own.configuration;
    for (size_t i = 0; i < own.buffers.size(); ++i)
      if (own.buffers[i].role == Role::Weight) {
        size_t buffer =
            allocate(own.buffers[i], step.name + afterDot(own.buffers[i].name), Role::Weight);
        std::ranges::copy(own.bytesOf(own.buffers[i]),
                          program.bytesOf(program.buffers[buffer]).begin());
        kernel.weights[i] = buffer;
      }
    kernel.firstMicroOp = program.microOps.size();
    program.microOps.insert(program.microOps.end(), own.microOps.begin(), own.microOps.end());
    return kernel;
  }

  static std::string afterDot(const std::string &name) {
    size_t dot = name.rfind('.');
    return dot == name.npos ? "." + name : name.substr(dot);
  }

  size_t allocate(const Buffer &like, std::string name, Role role) {
    uint64_t alignment = program.configuration.alignment();
    uint64_t offset = roundedUp<uint64_t>(program.dram.size(), alignment);
    program.dram.resize(offset + like.bytes);
    std::string unique = name;
    for (int n = 2; !names.insert(unique).second; ++n)
      unique = name + "." + std::to_string(n);
    program.buffers.push_back(
        {std::move(unique), role, offset, like.bytes, like.dtype, like.shape, like.layout});
    return program.buffers.size() - 1;
  }

  /// The place of a buffer of the given program, of which a kernel knows the layout.
  size_t bufferOf(size_t id, const Buffer &like) {
    auto [known, isNew] = buffers.try_emplace(id, 0);
    if (!isNew)
      return known->second;
    bool isRead = false, isWritten = false;
    std::string name = "value" + std::to_string(id);
    for (const headrace::Step &step : given.steps) {
      auto found = std::ranges::find(step.operands, static_cast<int>(id));
      if (found == step.operands.end())
        continue;
      bool writes = found + 1 == step.operands.end();
      if (step.kind == headrace::Step::Kind::Transfer)
        (writes ? isWritten : isRead) = true;
      if (step.kind == headrace::Step::Kind::Transfer && writes)
        name = step.name.substr(0, step.name.rfind(" to "));
      else if (step.kind == headrace::Step::Kind::Kernel && writes)
        name = step.name;
    }
    const BufferInfo &info = given.buffers[id];
    bool isConstant = info.kind == BufferInfo::Kind::Constant;
    Role role = isConstant  ? Role::Weight
                : isWritten ? Role::Input
                : isRead    ? Role::Output
                            : Role::Temporary;
    size_t buffer = allocate(like, name, role);
    if (isConstant) {
      const Tensor &values = given.constants[static_cast<size_t>(info.index)];
      std::memcpy(program.bytesOf(program.buffers[buffer]).data(), values.data(), values.bytes());
    }
    return known->second = buffer;
  }

  void appendMicroOps() {
    uint64_t alignment = program.configuration.alignment();
    program.microOpOffset = roundedUp<uint64_t>(program.dram.size(), alignment);
    program.dram.resize(program.microOpOffset + program.microOps.size() * 4);
    std::memcpy(program.dram.data() + program.microOpOffset, program.microOps.data(),
                program.microOps.size() * 4);
  }

  void addRun(const headrace::Step &step) {
    Placed &kernel = placed(step);
    const Program &own = kernel.code.program;
    // Where bytes of the kernel's DRAM are in that of all.
    std::map<uint64_t, int64_t> moves; // by where a region begins
    auto move = [&](uint64_t from, uint64_t to) {
      moves[from] = static_cast<int64_t>(to) - static_cast<int64_t>(from);
    };
    move(own.microOpOffset, program.microOpOffset + kernel.firstMicroOp * 4);
    for (auto [from, to] : kernel.weights)
      move(own.buffers[from].offset, program.buffers[to].offset);
    for (size_t i = 0; i < kernel.code.operands.size(); ++i) {
      const Buffer &from = own.buffers[kernel.code.operands[i]];
      size_t to = bufferOf(static_cast<size_t>(step.operands[i]), from);
      move(from.offset, program.buffers[to].offset);
    }
    InstructionSet set(own.configuration);
    size_t begin = program.instructions.size();
    for (const Word &word : own.instructions) {
      Instruction instruction = set.decode(word).instruction.value();
      if (instruction.isTransfer() && !instruction.movesNothing()) {
        auto size = static_cast<int64_t>(own.configuration.elementBytes(instruction.mem()));
        auto region =
            std::prev(moves.upper_bound(static_cast<uint64_t>(instruction.dramBase * size)));
        instruction.dramBase += region->second / size;
      }
      program.instructions.push_back(set.encode(instruction));
    }
    program.steps.push_back({false, begin, program.instructions.size(), ""});
  }

  const headrace::Program &given;
  std::span<const DeviceImage> images;
  Program program;
  std::set<std::string> names;
  std::map<std::string, Placed> kernels; ///< by their images
  std::map<size_t, size_t> buffers;      ///< by those of the given program
};

} // namespace

Program linkProgram(const headrace::Program &program, std::span<const DeviceImage> images) {
  return Linker(program, images).link();
}

} // namespace headrace::vta
