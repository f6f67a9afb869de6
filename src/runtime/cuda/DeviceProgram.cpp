#include "runtime/cuda/DeviceProgram.h"

#include "runtime/cuda/Checks.h"
#include "runtime/cuda/CudaEngine.h"
#include "runtime/program/ValueCheck.h"
#include "runtime/system/Error.h"
#include "runtime/system/ThreadPool.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace headrace::cuda {

DeviceProgram::DeviceProgram(Device &device, const Program &program,
                             const std::vector<DeviceImage> &given)
    : device(device), program(program) {
  std::vector<DeviceImage> images = given;
  if (std::optional<DeviceImage> image = checkImage(program))
    images.push_back(std::move(*image));
  loaded.resize(images.size());
  // The driver compiles an image in 10 to 200 ms, on one core.
  ThreadPool::global().parallelFor(
      static_cast<int64_t>(images.size()), 1, [&](int64_t begin, int64_t end, int) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
          loaded[i] = std::make_unique<LoadedImage>(device, images[i]);
      });
  std::unordered_map<std::string, const LoadedImage *> byName;
  for (size_t i = 0; i < images.size(); ++i)
    byName.emplace(images[i].name, loaded[i].get());

  int checkCount = 0;
  for (const Step &step : program.steps) {
    bool checksData = isCheck(step), isKernel = step.kind == Step::Kind::Kernel || checksData;
    checks.push_back(checksData ? checkCount++ : -1);
    std::vector<Function> &found = functions.emplace_back();
    std::vector<DType> &types = operandTypes.emplace_back();
    if (step.engine != engine().name() || step.kind == Step::Kind::Transfer) {
      launches.emplace_back();
      routines.push_back(nullptr);
      stepImages.push_back(nullptr);
      continue;
    }
    launches.push_back(checksData ? std::vector{checkLaunch(step)} : step.launches);
    for (int id : step.operands)
      types.push_back(program.buffers[static_cast<size_t>(id)].dtype);
    routines.push_back(isKernel ? nullptr : findDeviceRoutine(step.symbol));
    stepImages.push_back(nullptr);
    if (!isKernel) {
      if (!routines.back())
        throw Error(ErrorKind::Unsupported, "step '" + step.name + "': expected library routine '" +
                                                step.symbol + "', which this machine lacks");
      continue;
    }
    auto image = byName.find(checksData ? checkImageName : step.symbol);
    if (image == byName.end())
      throw InternalError("step '" + step.name + "': there is no image '" + step.symbol + "'");
    stepImages.back() = image->second;
    for (const Launch &launch : launches.back())
      found.push_back(image->second->find(launch.function, launch.sharedBytes));
  }
}

DeviceBinding DeviceProgram::bind(std::span<const int64_t> symbols) const {
  DeviceBinding binding;
  binding.symbols.assign(symbols.begin(), symbols.end());
  binding.common = makeBinding(program, symbols);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    std::vector<BoundLaunch> &boundLaunches = binding.steps.emplace_back();
    for (size_t k = 0; k < launches[i].size(); ++k) {
      BoundLaunch bound = bindLaunch(launches[i][k], functions[i][k], step.name, symbols);
      if (!bound.isEmpty())
        boundLaunches.push_back(std::move(bound));
    }
    binding.launches += isRoutine(i) ? 1 : boundLaunches.size();
  }
  prepareRoutines(binding);
  return binding;
}

/// Libraries compile code in up to half a second, on one core.
void DeviceProgram::prepareRoutines(const DeviceBinding &binding) const {
  std::map<std::vector<int64_t>, size_t> different; // steps, by routine, sizes and types
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (!routines[i] || !findPreparation(program.steps[i].symbol))
      continue;
    std::vector<int64_t> key = binding.common.steps[i].parameters;
    for (DType type : operandTypes[i])
      key.push_back(static_cast<int64_t>(type));
    different.emplace(std::move(key), i);
  }
  std::vector<size_t> steps;
  for (const auto &[key, step] : different)
    steps.push_back(step);
  ThreadPool::global().parallelFor(
      static_cast<int64_t>(steps.size()), 1, [&](int64_t begin, int64_t end, int) {
        Current current(device);
        WhileRecording permitted;
        for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
          size_t i = steps[k];
          std::vector<Address> none(operandTypes[i].size());
          findPreparation(program.steps[i].symbol)({program.steps[i], none, operandTypes[i],
                                                    binding.common.steps[i].parameters, device,
                                                    nullptr, 0});
        }
      });
}

std::vector<Address> DeviceProgram::operands(size_t step, const CallMemory &memory) const {
  std::vector<Address> result;
  for (int id : program.steps[step].operands)
    result.push_back(memory.buffers[static_cast<size_t>(id)]);
  if (checks[step] >= 0)
    result.push_back(memory.checkRecords +
                     static_cast<Address>(checks[step]) * sizeof(CheckRecord));
  return result;
}

void DeviceProgram::launch(size_t index, const DeviceBinding &binding, const CallMemory &memory,
                           Stream stream, const Launched &launched) const {
  const Step &step = program.steps[index];
  std::vector<Address> addresses = operands(index, memory);
  if (routines[index]) {
    routines[index]({step, addresses, operandTypes[index], binding.common.steps[index].parameters,
                     device, stream, memory.routineWorkspace});
    return;
  }
  Arguments arguments;
  for (const BoundLaunch &bound : binding.steps[index]) {
    void **values = arguments.fill(bound, addresses, workspace(index, binding, memory));
    const std::array<int, 3> &block = bound.launch->block;
    Result result = driver().cuLaunchKernel(
        bound.function, bound.grid[0], bound.grid[1], bound.grid[2],
        static_cast<unsigned>(block[0]), static_cast<unsigned>(block[1]),
        static_cast<unsigned>(block[2]), static_cast<unsigned>(bound.launch->sharedBytes), stream,
        values, nullptr);
    if (result != CUDA_SUCCESS)
      check(result, "step '" + step.name + "': launching '" + bound.launch->function + "'");
    if (launched)
      launched(bound);
  }
}

bool DeviceProgram::hasRoutines() const {
  return std::any_of(routines.begin(), routines.end(), [](DeviceRoutine r) { return r; });
}

std::vector<std::string> DeviceProgram::notes() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    std::string text;
    for (const Launch &launch : launches[i])
      text += (text.empty() ? "" : "; ") + stepImages[i]->describe(launch.function);
    result.push_back(std::move(text));
  }
  return result;
}

} // namespace headrace::cuda
