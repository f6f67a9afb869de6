#pragma once

#include "runtime/program/Executable.h"

namespace headrace::test {

inline DimExpr number(int64_t value) { return DimExpr::constant(value); }

inline BufferInfo buffer(BufferInfo::Kind kind, int index, DimExpr bytes, int first = 0,
                         int last = 0) {
  return {kind, index, DType::F32, std::move(bytes), first, last, hostEngine};
}

inline Step kernelStep(std::string name, std::vector<int> operands, DimExpr elements) {
  Step step;
  step.name = name;
  step.symbol = std::move(name);
  step.operands = std::move(operands);
  step.cost.bytesRead = elements * number(4);
  step.cost.bytesWritten = elements * number(4);
  step.cost.operations = elements;
  return step;
}

/// In the kernels below symbol 0 is the number of elements.

/// buffers: in, out; out = in + 1
inline int64_t addOne(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end,
                      void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] + 1;
  return symbols[0];
}

/// buffers: a, b, out; out = a * b
inline int64_t multiply(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end,
                        void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[2])[i] =
        static_cast<const float *>(buffers[0])[i] * static_cast<const float *>(buffers[1])[i];
  return symbols[0];
}

/// y = (x + 1) * (x + 2) through temporaries a = x + 1, b = a + 1; then a dead one, c = y + 1.
inline Program chainProgram() {
  DimExpr n = DimExpr::symbol(0), bytes = n * number(4);
  Program program;
  program.name = "chain";
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"x", DType::F32, {n}}};
  program.outputs = {{"y", DType::F32, {n}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, bytes),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 0, 2),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 1, 2),
                     buffer(BufferInfo::Kind::Output, 0, bytes),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 3, 3)};
  program.steps = {kernelStep("a", {0, 1}, n), kernelStep("b", {1, 2}, n),
                   kernelStep("y", {1, 2, 3}, n), kernelStep("c", {3, 4}, n)};
  return program;
}

/// The program with all its steps on one engine.
inline Program onEngine(const std::string &engine, Program program) {
  for (Step &step : program.steps)
    step.engine = engine;
  for (BufferInfo &buffer : program.buffers)
    buffer.engine = engine;
  return program;
}

inline Executable chainExecutable() {
  return Executable(chainProgram(), ProgramCode{{addOne, addOne, multiply, addOne}, {}, nullptr});
}

} // namespace headrace::test
