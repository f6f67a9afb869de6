// A third target, small enough to read at once: a machine with memory of its own that computes a
// few element-wise functions and products of f32, by interpreting a list of loops. All else is the
// host's. It shows what a target is made of, and that nothing outside its directory knows it.
#pragma once

#include "runtime/program/Engine.h"
#include "target/Target.h"

namespace headrace::toy {

/// Makes the target and its engine, both "toy", known to the process.
void addToy();

/// Loops over all points; at each the body computes an element from those that it reads.
struct Loop {
  struct Access {
    int tensor = 0;
    std::vector<int> dims; // of each dimension, the loop that walks it; -1: its first element
  };
  struct Instruction {
    std::string name; // "addf", or "constant"
    std::vector<int> arguments;
    double value = 0; // of a constant
  };
  std::vector<DimExpr> sizes;
  std::vector<Access> reads;
  Access write;
  /// Values are numbered: what is read, the element of `write` as it was, then the instructions'.
  std::vector<Instruction> body;
  int result = 0;
};

/// A kernel: operands first among its tensors, then temporaries.
struct Kernel {
  std::vector<std::vector<DimExpr>> tensors;
  int operands = 0;
  std::vector<Loop> loops;
};

/// The kernel as the engine reads it, and back; throws JsonFault.
std::string toText(const Kernel &kernel);
Kernel fromText(const std::string &text);

/// The function of an instruction; null if there is none of that name.
float (*functionOf(const std::string &name))(float, float);

const Engine &engine();

} // namespace headrace::toy
