#include "runtime/cuda/CudaTest.h"
#include "runtime/cuda/Memory.h"
#include "runtime/system/Error.h"

#include <filesystem>
#include <thread>
#include <unistd.h>

namespace headrace::test {

namespace {

using cuda::Device;

std::string errorOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

Tensor onDevice(const Tensor &tensor) { return cuda::toDevice(Device::get(0), tensor); }
Tensor onHost(const Tensor &tensor) { return cuda::toHost(tensor, nullptr); }

TEST_F(CudaTest, RunsStepsOnTheDevice) {
  Executable executable = deviceChainExecutable();
  EXPECT_EQ(executable.place().device, 0);
  for (int64_t n : {1, 5, 100, 5, 5, 5, 100})
    expectChain(executable.run(std::vector{counting(n)})[0], n);
}

TEST_F(CudaTest, EmptyGridsAreNotLaunched) {
  Executable executable = deviceChainExecutable();
  Tensor y = executable.run(std::vector{counting(0)})[0];
  EXPECT_EQ(y.shape(), Shape{0});
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
}

TEST_F(CudaTest, SizesThatComeAgainAreOneGraph) {
  Executable executable = deviceChainExecutable();
  std::vector inputs{counting(8)};
  executable.run(inputs);
  EXPECT_EQ(calls("cuLaunchKernel"), 4);
  EXPECT_EQ(calls("cuGraphLaunch"), 0);
  for (int i = 0; i < 5; ++i)
    expectChain(executable.run(inputs)[0], 8);
  EXPECT_EQ(calls("cuLaunchKernel"), 8); // recorded once
  EXPECT_EQ(calls("cuGraphLaunch"), 5);
  EXPECT_EQ(calls("cuGraphExecKernelNodeSetParams_v2"), 0);
}

TEST_F(CudaTest, GraphsFollowTensorsThatMove) {
  Executable executable = deviceChainExecutable();
  std::vector<Tensor> kept;
  for (int i = 0; i < 4; ++i) {
    Tensor x = onDevice(counting(8));
    kept.push_back(x);
    std::vector<Tensor> y = executable.run(std::vector{x});
    EXPECT_EQ(y[0].place().device, 0);
    expectChain(onHost(y[0]), 8);
    kept.push_back(y[0]);
  }
  EXPECT_EQ(calls("cuGraphInstantiateWithFlags"), 1);
  // Twice, the steps that read x or touch y: not the one between temporaries.
  EXPECT_EQ(calls("cuGraphExecKernelNodeSetParams_v2"), 2 * 3);
}

TEST_F(CudaTest, TensorsOfTheDeviceAreUsedInPlace) {
  Executable executable = deviceChainExecutable();
  Tensor x = onDevice(counting(8)), y = onDevice(counting(8));
  int before = calls("cuMemcpyHtoDAsync_v2");
  std::vector outputs{y};
  executable.runInto(std::vector{x}, outputs);
  EXPECT_EQ(outputs[0].data(), y.data());
  EXPECT_EQ(calls("cuMemcpyHtoDAsync_v2"), before);
  EXPECT_EQ(calls("cuMemcpyDtoHAsync_v2"), 0);
  expectChain(onHost(y), 8);
}

TEST_F(CudaTest, MisalignedInputsAreCopied) {
  Executable executable = deviceChainExecutable();
  Tensor all = onDevice(counting(9));
  const auto *second = static_cast<const float *>(all.data()) + 1;
  Tensor x = Tensor::borrow(DType::F32, {8}, second, all.owner(), {0});
  Tensor y = onHost(executable.run(std::vector{x})[0]);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(y.as<float>()[i], static_cast<float>((i + 2) * (i + 3)));
}

TEST_F(CudaTest, EnqueuedWorkIsNotWaitedFor) {
  Executable executable = deviceChainExecutable();
  Tensor x = onDevice(counting(8));
  std::vector inputs{x};
  std::vector<Tensor> outputs(1);
  executable.enqueue(inputs, outputs, nullptr);
  int before = calls("cuStreamSynchronize");
  for (int i = 0; i < 3; ++i) {
    std::vector<Tensor> more(1);
    executable.enqueue(inputs, more, nullptr);
    expectChain(onHost(more[0]), 8);
    ++before; // toHost waits
  }
  EXPECT_EQ(calls("cuStreamSynchronize"), before);
}

// Memory of a caller who counts what is asked for.
struct CountingAllocator {
  CountingAllocator() {
    allocator.output = [this](size_t, const Shape &shape) {
      ++outputs;
      return cuda::allocateTensor(Device::get(0), DType::F32, shape, nullptr, "a test");
    };
    allocator.temporary = [this](size_t bytes) {
      ++temporaries;
      Tensor made = cuda::allocateTensor(Device::get(0), DType::U8, {static_cast<int64_t>(bytes)},
                                         nullptr, "a test");
      return std::shared_ptr<void>(std::make_shared<Tensor>(made), made.data());
    };
  }
  CallAllocator allocator;
  int outputs = 0, temporaries = 0;
};

TEST_F(CudaTest, CallersMayBringTheirMemory) {
  Executable executable = deviceChainExecutable();
  Tensor x = onDevice(counting(8));
  std::vector inputs{x};
  CountingAllocator own;
  int64_t before = fake->memoryUsed;
  for (int i = 1; i <= 4; ++i) {
    std::vector<Tensor> outputs(1);
    executable.enqueue(inputs, outputs, nullptr, &own.allocator);
    expectChain(onHost(outputs[0]), 8);
    EXPECT_EQ(own.outputs, i);
    EXPECT_EQ(own.temporaries, i); // all of them in one piece
  }
  EXPECT_EQ(fake->memoryUsed, before); // nothing is kept
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0);
  EXPECT_EQ(calls("cuEventRecord"), 0);
}

TEST_F(CudaTest, RecordedCallsAreDoneWhenTheGraphRuns) {
  Executable executable = deviceChainExecutable();
  Tensor x = onDevice(counting(8));
  std::vector inputs{x};
  CountingAllocator own;
  std::vector<std::shared_ptr<void>> kept; // as memory of a graph is
  auto temporary = own.allocator.temporary;
  own.allocator.temporary = [&](size_t bytes) { return kept.emplace_back(temporary(bytes)); };
  for (int i = 0; i < 3; ++i) { // as a graph of its own by now
    std::vector<Tensor> outputs(1);
    executable.enqueue(inputs, outputs, nullptr, &own.allocator);
  }
  int launches = calls("cuGraphLaunch"), waits = calls("cuStreamSynchronize");

  const cuda::Driver &api = cuda::driver();
  cuda::Stream stream = nullptr;
  api.cuStreamCreate(&stream, cuda::CU_STREAM_NON_BLOCKING);
  api.cuStreamBeginCapture_v2(stream, cuda::CU_STREAM_CAPTURE_MODE_RELAXED);
  std::vector<Tensor> outputs(1);
  executable.enqueue(inputs, outputs, stream, &own.allocator);
  EXPECT_EQ(calls("cuGraphLaunch"), launches);
  EXPECT_EQ(calls("cuStreamSynchronize"), waits);

  std::vector<Tensor> host{counting(8)};
  EXPECT_EQ(errorOf([&] {
              std::vector<Tensor> others(1);
              executable.enqueue(host, others, stream, &own.allocator);
            }),
            "program 'chain', recorded as a graph: expected all tensors on the device, got one in "
            "host memory");
  EXPECT_EQ(errorOf([&] {
              std::vector<Tensor> others(1);
              executable.enqueue(inputs, others, stream);
            }),
            "program 'chain', recorded as a graph: expected memory that the caller allocates");

  cuda::Graph graph = nullptr;
  cuda::GraphExec runnable = nullptr;
  api.cuStreamEndCapture(stream, &graph);
  EXPECT_NE(onHost(outputs[0]).as<float>()[1], 6);
  api.cuGraphInstantiateWithFlags(&runnable, graph, 0);
  api.cuGraphLaunch(runnable, nullptr);
  expectChain(onHost(outputs[0]), 8);
  api.cuGraphExecDestroy(runnable);
  api.cuGraphDestroy(graph);
  api.cuStreamDestroy_v2(stream);
}

TEST_F(CudaTest, AddressesOfLibraryCallsAreFewGraphs) {
  // The chain, and a copy of its input.
  Program program = deviceChain();
  DimExpr n = DimExpr::symbol(0);
  program.outputs.push_back({"copy", DType::F32, {n}});
  program.buffers.push_back(buffer(BufferInfo::Kind::Output, 1, n * number(4)));
  Step copy = kernelStep("copy", {0, 5}, n);
  copy.kind = Step::Kind::Library;
  copy.parameters = {n * number(4)};
  program.steps.push_back(copy);
  Executable executable = deviceExecutable(program, {fakeImage});

  std::vector<Tensor> inputs;
  for (int i = 0; i < 7; ++i)
    inputs.push_back(onDevice(counting(8)));
  std::vector outputs{onDevice(counting(8)), onDevice(counting(8))};
  auto call = [&](size_t input) {
    executable.runInto(std::span(inputs).subspan(input, 1), outputs);
  };
  auto graphs = [&] { return calls("cuGraphInstantiateWithFlags"); };
  call(0); // one by one
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < 4; ++i)
      call(i);
  EXPECT_EQ(graphs(), 4);
  EXPECT_EQ(calls("cuGraphLaunch"), 12);
  for (size_t i : {4, 5, 4, 5, 4, 5}) // no room, and they change
    call(i);
  EXPECT_EQ(graphs(), 4);
  for (int i = 0; i < 3; ++i) // this one stays
    call(6);
  EXPECT_EQ(graphs(), 5);
  EXPECT_EQ(calls("cuGraphLaunch"), 14);
  expectChain(onHost(outputs[0]), 8);
}

TEST_F(CudaTest, LaunchesOfAStepShareAWorkspace) {
  DimExpr n = DimExpr::symbol(0);
  Program program;
  program.name = "sum";
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"x", DType::F32, {n}}};
  program.outputs = {{"y", DType::F32, {number(1)}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, n * number(4)),
                     buffer(BufferInfo::Kind::Output, 0, number(4))};
  Step step = kernelStep("image", {0, 1}, n);
  step.deviceWorkspaceBytes = number(256);
  step.launches = {
      launchOf("partial", {workspaceParameter(128), bufferParameter(0), sizeParameter(n)}),
      launchOf("finish", {workspaceParameter(128), bufferParameter(1)})};
  program.steps = {step};
  Executable executable = deviceExecutable(program, {fakeImage});
  EXPECT_EQ(executable.memoryPlan(std::vector<int64_t>{8}).totalBytes, 256);
  EXPECT_EQ(executable.run(std::vector{counting(8)})[0].as<float>()[0], 28);
}

TEST_F(CudaTest, ConstantsAndCopiesAreOnTheDevice) {
  Program program;
  program.name = "constant";
  program.outputs = {{"y", DType::F32, {number(4)}}};
  program.constants = {counting(4)};
  program.buffers = {buffer(BufferInfo::Kind::Constant, 0, number(16)),
                     buffer(BufferInfo::Kind::Output, 0, number(16))};
  Step copy = kernelStep("copy", {0, 1}, number(4));
  copy.kind = Step::Kind::Library;
  copy.parameters = {number(16)};
  program.steps = {copy};
  Executable executable = deviceExecutable(program, {});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(executable.run({})[0].as<float>()[3], 3);
}

TEST_F(CudaTest, TensorMapsDescribeTheOperand) {
  Program program;
  program.name = "map";
  DimExpr n = DimExpr::symbol(0);
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"x", DType::BF16, {n, number(64)}}};
  program.outputs = {{"y", DType::I64, {number(8)}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, n * number(128)),
                     buffer(BufferInfo::Kind::Output, 0, number(64))};
  program.buffers[0].dtype = DType::BF16;
  program.buffers[1].dtype = DType::I64;
  LaunchParameter map;
  map.kind = LaunchParameter::Kind::TensorMap;
  map.tile = {DType::BF16, {n, number(64)}, {128, 32}, 64};
  Step step = kernelStep("image", {0, 1}, n);
  step.launches = {launchOf("show_map", {map, bufferParameter(1)})};
  program.steps = {step};
  Executable executable = deviceExecutable(program, {fakeImage});
  Tensor y = executable.run(std::vector{Tensor::allocate(DType::BF16, {5, 64})})[0];
  // Type, rank, sizes innermost first, stride of rows in bytes, box, swizzle.
  std::vector<int64_t> expected = {9, 2, 64, 5, 128, 32, 128, 2};
  EXPECT_EQ(std::vector<int64_t>(y.as<int64_t>(), y.as<int64_t>() + 8), expected);
}

TEST_F(CudaTest, StepsAreTimedByTheDevice) {
  Executable executable = deviceChainExecutable();
  std::vector<double> times;
  expectChain(executable.run(std::vector{counting(8)}, ThreadPool::global(), &times)[0], 8);
  EXPECT_EQ(times, (std::vector<double>{1000, 1000, 1000, 1000})); // a tick of the fake is 1 ms
}

TEST_F(CudaTest, NotesTellRegistersAndSpills) {
  std::vector<std::string> notes = deviceChainExecutable().stepNotes();
  EXPECT_EQ(notes[0], "40 registers");
  EXPECT_EQ(notes[2], "40 registers, spills 16 bytes");
}

TEST_F(CudaTest, ManyThreadsMayCall) {
  Executable executable = deviceChainExecutable();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        expectChain(executable.run(std::vector{counting(8 + t)})[0], 8 + t);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CudaTest, NothingIsLeftBehind) {
  {
    Executable executable = deviceChainExecutable();
    for (int i = 0; i < 3; ++i)
      executable.run(std::vector{counting(8)});
    EXPECT_GT(fake->memoryUsed, 0);
    EXPECT_EQ(fake->liveHostMemory, 0); // there is nothing to check
  }
  {
    Executable checked = deviceExecutable(checkedChain(), {fakeImage});
    checked.run(std::vector{counting(8), indicesWith(8)});
    EXPECT_GT(fake->liveHostMemory, 0);
  }
  EXPECT_EQ(fake->liveHostMemory, 0);
  EXPECT_EQ(fake->memoryUsed, 0);
  EXPECT_EQ(fake->liveEvents, 0);
  EXPECT_EQ(fake->liveGraphs, 0);
  EXPECT_EQ(fake->liveModules, 0);
  EXPECT_EQ(fake->liveStreams, 1); // kept for the next program
}

TEST_F(CudaTest, OutOfMemoryIsOneLineAndTheProgramStaysUsable) {
  Executable executable = deviceChainExecutable();
  expectChain(executable.run(std::vector{counting(8)})[0], 8);
  fake->memoryLimit = fake->memoryUsed + (1 << 20);
  EXPECT_EQ(errorOf([&] { executable.run(std::vector{counting(1 << 20)}); }),
            "allocating 8388608 bytes for inputs and outputs on Fake H200: the device has not "
            "enough memory (CUDA_ERROR_OUT_OF_MEMORY)");
  EXPECT_EQ(calls("cuMemPoolTrimTo"), 1);
  for (int i = 0; i < 3; ++i)
    expectChain(executable.run(std::vector{counting(8)})[0], 8);
}

TEST_F(CudaTest, ErrorsNameTheStep) {
  Executable executable = deviceChainExecutable();
  fake->failures["cuLaunchKernel"] = 700;
  EXPECT_EQ(errorOf([&] { executable.run(std::vector{counting(8)}); }),
            "step 'a': launching 'add_one': the device failed with CUDA_ERROR_ILLEGAL_ADDRESS");
  fake->failures["cuStreamSynchronize"] = 719;
  EXPECT_NE(errorOf([&] { executable.run(std::vector{counting(8)}); }).find("error 719"),
            std::string::npos);
  expectChain(executable.run(std::vector{counting(8)})[0], 8);
}

TEST_F(CudaTest, ChecksOfDataNameTheStep) {
  Executable executable = deviceExecutable(checkedChain(), {fakeImage});
  // Launched one by one, then as a graph.
  for (int i = 0; i < 4; ++i) {
    expectChain(executable.run(std::vector{counting(8), indicesWith(8)})[0], 8);
    EXPECT_EQ(errorOf([&] { executable.run(std::vector{counting(8), indicesWith(8, 5, 8)}); }),
              "node 'embed' (Gather): index 8 at [5] is outside [-8, 8)");
  }
  EXPECT_GT(calls("cuGraphLaunch"), 0);
  EXPECT_EQ(errorOf([&] { executable.run(std::vector{counting(3), indicesWith(3, 0, -4)}); }),
            "node 'embed' (Gather): index -4 at [0] is outside [-3, 3)");
  EXPECT_EQ(executable.run(std::vector{counting(0), indicesWith(0)})[0].elements(), 0);
}

TEST_F(CudaTest, ChecksOfStreamsAreReportedByTheNextCall) {
  Executable executable = deviceExecutable(checkedChain(), {fakeImage});
  auto enqueue = [&](const Tensor &indices) {
    std::vector<Tensor> outputs(1);
    executable.enqueue(std::vector{onDevice(counting(8)), onDevice(indices)}, outputs, nullptr);
    return outputs[0];
  };
  expectChain(onHost(enqueue(indicesWith(8))), 8);
  EXPECT_NO_THROW(executable.raiseDataErrors());
  std::string expected = "node 'embed' (Gather): index 99 at [2] is outside [-8, 8)";
  enqueue(indicesWith(8, 2, 99));
  EXPECT_EQ(errorOf([&] { enqueue(indicesWith(8)); }), expected);
  expectChain(onHost(enqueue(indicesWith(8))), 8);
  enqueue(indicesWith(8, 2, 99));
  EXPECT_EQ(errorOf([&] { executable.raiseDataErrors(); }), expected);
  EXPECT_NO_THROW(executable.raiseDataErrors());
}

TEST_F(CudaTest, ThreadsHearOfTheirOwnDataOnly) {
  Executable executable = deviceExecutable(checkedChain(), {fakeImage});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(errorOf([&] {
                    executable.run(
                        std::vector{counting(8), indicesWith(8, t, t % 2 ? 100 + t : t)});
                  }),
                  t % 2 ? "node 'embed' (Gather): index " + std::to_string(100 + t) + " at [" +
                              std::to_string(t) + "] is outside [-8, 8)"
                        : "no error");
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CudaTest, AFailureWhileRecordingLeavesTheProgramUsable) {
  Executable executable = deviceChainExecutable();
  std::vector inputs{counting(8)};
  executable.run(inputs);
  for (const char *function : {"cuLaunchKernel", "cuGraphInstantiateWithFlags"}) {
    fake->failures[function] = 700;
    EXPECT_NE(errorOf([&] { executable.run(inputs); }), "no error");
  }
  expectChain(executable.run(inputs)[0], 8);
  EXPECT_EQ(fake->liveGraphs, 1);
}

TEST_F(CudaTest, RefusedTextIsTheDriversWords) {
  EXPECT_EQ(errorOf([] { deviceExecutable(deviceChain(), {{"image", "bad"}}); }),
            "compiling kernel 'image' (line 3: unknown instruction): the device failed with "
            "CUDA_ERROR_INVALID_PTX");
}

TEST_F(CudaTest, TooMuchSharedMemoryIsRefused) {
  Program program = deviceChain();
  program.steps[0].launches[0].sharedBytes = 300 << 10;
  EXPECT_NE(errorOf([&] {
              deviceExecutable(program, {fakeImage});
            }).find("expected 307200 bytes of shared memory"),
            std::string::npos);
  program.steps[0].launches[0].sharedBytes = 200 << 10;
  Executable executable = deviceExecutable(program, {fakeImage});
  expectChain(executable.run(std::vector{counting(8)})[0], 8);
}

TEST_F(CudaTest, TensorsMustBeWhereTheProgramIs) {
  Executable executable = deviceChainExecutable();
  Tensor x = counting(8);
  Tensor elsewhere = Tensor::borrow(DType::F32, {8}, x.data(), nullptr, {3});
  EXPECT_EQ(errorOf([&] { executable.run(std::vector{elsewhere}); }),
            "input 'x': expected a tensor in device 0, got one in device 3");
  EXPECT_EQ(errorOf([&] { chainExecutable().run(std::vector{onDevice(x)}); }),
            "input 'x': expected a tensor in host memory, got one in device 0");
}

/// (x + 1) * (x + 2) with b = a + 1 on the device and the rest on the host.
Executable sharedChain() {
  Program program = chainProgram();
  DimExpr n = DimExpr::symbol(0), bytes = n * number(4);
  auto transfer = [&](const char *name, int from, int to) {
    Step step;
    step.kind = Step::Kind::Transfer;
    step.engine = "cuda";
    step.name = name;
    step.symbol = "copy";
    step.operands = {from, to};
    step.parameters = {bytes};
    return step;
  };
  using Kind = BufferInfo::Kind;
  program.buffers = {
      buffer(Kind::Input, 0, bytes),           buffer(Kind::Temporary, 0, bytes, 0, 4),
      buffer(Kind::Temporary, 0, bytes, 1, 2), buffer(Kind::Temporary, 0, bytes, 2, 3),
      buffer(Kind::Temporary, 0, bytes, 3, 4), buffer(Kind::Output, 0, bytes)};
  program.buffers[2].engine = program.buffers[3].engine = "cuda";
  Step b = deviceChain().steps[1];
  b.operands = {2, 3};
  program.steps = {kernelStep("a", {0, 1}, n), transfer("a to cuda", 1, 2), b,
                   transfer("b to cpu", 3, 4), kernelStep("y", {1, 4, 5}, n)};
  return Executable(
      std::move(program),
      ProgramCode{{addOne, nullptr, nullptr, nullptr, multiply}, {fakeImage}, nullptr});
}

TEST_F(CudaTest, TheHostAndTheDeviceShareAProgram) {
  Executable executable = sharedChain();
  for (int64_t n : {8, 100, 8, 8})
    expectChain(executable.run(std::vector{counting(n)})[0], n);
  EXPECT_EQ(calls("cuLaunchKernel"), 4);
  EXPECT_EQ(executable.run(std::vector{counting(0)})[0].shape(), Shape{0});
}

TEST_F(CudaTest, ASharedProgramTakesTensorsOfBothPlaces) {
  Executable executable = sharedChain();
  Tensor x = onDevice(counting(8));
  Tensor y = executable.run(std::vector{x})[0]; // an input is on the device, so the output is
  EXPECT_EQ(y.place().device, 0);
  expectChain(onHost(y), 8);
  std::vector<Tensor> given{onDevice(counting(8))};
  executable.runInto(std::vector{counting(8)}, given);
  expectChain(onHost(given[0]), 8);
  std::vector<Tensor> fresh(1);
  executable.enqueue(std::vector{x}, fresh, nullptr);
  EXPECT_EQ(fresh[0].place().device, 0);
  expectChain(onHost(fresh[0]), 8);
  Tensor elsewhere = Tensor::borrow(DType::F32, {8}, x.data(), nullptr, {3});
  EXPECT_EQ(errorOf([&] { executable.run(std::vector{elsewhere}); }),
            "input 'x': expected a tensor in device 0, got one in device 3");
}

TEST_F(CudaTest, AddressesTellTheirPlace) {
  Tensor x = counting(8), there = onDevice(x);
  cuda::MemorySpaceFinder places;
  EXPECT_TRUE(places.find(x.data()).onHost());
  EXPECT_EQ(places.find(static_cast<const float *>(there.data()) + 3).device, 0);
}

TEST_F(CudaTest, CodeRunsOnItsArchitecture) {
  EXPECT_EQ(cuda::hostArchitecture(), "sm_90a");
  EXPECT_EQ(cuda::unsupportedReason("sm_90a"), "");
  EXPECT_EQ(cuda::unsupportedReason("sm_80"), "");
  EXPECT_EQ(cuda::unsupportedReason("sm_100a"), "device Fake H200 is sm_90a");
}

TEST_F(CudaTest, AMissingDriverIsOneLine) {
  ::setenv("HEADRACE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  EXPECT_EQ(errorOf([] { deviceChainExecutable(); }),
            "no NVIDIA driver: /nowhere/libcuda.so.1 not found");
  EXPECT_EQ(cuda::hostArchitecture(), "");
}

TEST_F(CudaTest, AnOldDriverIsOneLine) {
  ::setenv("FAKE_CUDA_VERSION", "11040", 1);
  EXPECT_EQ(errorOf([] { deviceChainExecutable(); }),
            "the NVIDIA driver is too old: expected one for CUDA 12.0 or newer, got 11.4");
}

TEST_F(CudaTest, AMachineWithoutDevicesIsOneLine) {
  fake->devices = 0;
  EXPECT_EQ(errorOf([] { deviceChainExecutable(); }),
            "no NVIDIA device: the driver is installed, but finds none");
}

TEST_F(CudaTest, CompiledImagesAreKeptOnDisk) {
  std::string folder = ::testing::TempDir() + "headrace-cubin-" + std::to_string(::getpid());
  ::setenv("HEADRACE_CACHE_DIR", folder.c_str(), 1);
  for (int i = 0; i < 3; ++i)
    expectChain(deviceChainExecutable().run(std::vector{counting(8)})[0], 8);
  EXPECT_EQ(calls("cuLinkComplete"), 1);
  std::filesystem::remove_all(folder);
}

} // namespace

} // namespace headrace::test
