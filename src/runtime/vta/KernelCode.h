// A kernel of a compiled program as text: one run of the accelerator, with its constants.
#pragma once

#include "runtime/vta/Program.h"

namespace headrace::vta {

/// A kernel: its program, and the buffers that are operands.
struct KernelCode {
  Program program;
  /// Buffers that are the operands of a step, in order; the last is written.
  std::vector<size_t> operands;
};

/// The text that kernelCodeOf reads.
std::string toText(const KernelCode &code);
/// Throws JsonFault if the text is not code, or requests more memory than its buffers take.
KernelCode kernelCodeOf(std::string_view text);

} // namespace headrace::vta
