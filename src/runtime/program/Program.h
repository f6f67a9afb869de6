#pragma once

#include "runtime/tensor/DimExpr.h"
#include "runtime/tensor/Tensor.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// A size left open at compile time, and the sizes this program serves (its guard).
struct Symbol {
  std::string name;
  int64_t min = 2;
  int64_t max = INT64_MAX;
};

/// A declared input or output.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<DimExpr> dims;
};

/// The engine of the process itself (Engine.h): kernels are its functions, memory is host memory.
inline constexpr char hostEngine[] = "cpu";

/// A piece of memory that steps read and write. Temporaries live from firstStep to lastStep.
struct BufferInfo {
  enum class Kind { Input, Output, Constant, Temporary };
  Kind kind = Kind::Temporary;
  int index = 0; // of the input, output or constant
  DType dtype = DType::F32;
  DimExpr bytes;
  int firstStep = 0, lastStep = 0;
  /// Whose memory it is in. A constant that several engines read has a buffer with each.
  std::string engine = hostEngine;
};

/// Does the items [begin, end) of its grid and returns the size of the grid; with begin == end it
/// touches no memory, and the pointers may be null. `buffers` are the step's operands in order.
using KernelFn = int64_t (*)(void *const *buffers, const int64_t *symbols, int64_t begin,
                             int64_t end, void *workspace);

/// A parameter of a device function.
struct LaunchParameter {
  enum class Kind {
    Buffer,    // address of the step's operand `index`
    Size,      // value of `size`, as i64
    Workspace, // address of the step's device workspace, `size` bytes into it
    TensorMap, // 128 bytes that describe a tile of a matrix to the device's copy engine: of the
               // operand `index`, or if that is -1 `size` bytes into the workspace
  };
  /// A row-major matrix (or stack of them, outermost first) and the box that one copy moves.
  struct Tile {
    DType dtype = DType::BF16;
    std::vector<DimExpr> dims; // outermost first
    std::vector<int64_t> box;  // as many
    int64_t swizzleBytes = 0;  // 0, 32, 64 or 128
  };
  Kind kind = Kind::Buffer;
  int index = 0;
  DimExpr size;
  Tile tile;
};

/// One launch of a device function.
struct Launch {
  std::string function;                 // its name in the image
  std::array<DimExpr, 3> grid;          // blocks; an empty grid is not launched
  std::array<int, 3> block = {1, 1, 1}; // threads
  int64_t sharedBytes = 0;              // dynamic shared memory of a block
  std::vector<LaunchParameter> parameters;
};

/// What a kernel moves and computes, by the sizes of a call.
struct KernelCost {
  DimExpr bytesRead, bytesWritten, operations, intermediateBytes;
  /// Further bytes that its operators would move, each in a kernel of its own.
  DimExpr bytesSaved;
};

/// A step of a program: runs a kernel or a library routine, or copies between memories.
struct Step {
  enum class Kind {
    Kernel,
    Library,
    Transfer, // copies its first operand to its second, which is in another engine's memory
  };
  Kind kind = Kind::Kernel;
  /// Who runs it, with operands in its own memory; of a transfer, the one that is not the host.
  std::string engine = hostEngine;
  std::string name;                // shown to the user
  std::string symbol;              // kernel function or library routine ("openblas.sgemm")
  std::vector<int> operands;       // buffer ids, inputs then outputs
  std::vector<DimExpr> parameters; // of library steps; of transfers, the bytes
  int64_t workspaceBytes = 0;      // per worker
  /// On a device, instead of a function of the host: launches in order, of functions in the image
  /// `symbol`, and the memory they share. Other engines find all in the image.
  std::vector<Launch> launches;
  DimExpr deviceWorkspaceBytes;
  KernelCost cost;
  std::vector<std::string> operators; // the user's operators in it
};

/// Kernels as text that their engine reads: PTX, instructions. Equal names are equal text.
struct DeviceImage {
  std::string name;
  std::string text;
};

/// A compiled program as plain data; the code of its kernels is elsewhere.
struct Program {
  std::string name;
  std::string origin; // the file it was read from; empty if it was compiled in this process
  std::vector<Symbol> symbols;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<Tensor> constants;
  std::vector<BufferInfo> buffers;
  std::vector<Step> steps;
};

/// The first inconsistency of a program; empty for a sound one. Asked by whoever reads a program
/// from outside, and by whoever runs one. In a sound program
/// - every symbol is the whole of an input's dimension, with a non-empty range of sizes from 0 on;
/// - constant sizes are not negative, of dimensions, buffers, workspaces and grids;
/// - a buffer stands for an input, output or constant there is, or is a temporary that lives within
///   the steps; every output has one buffer, which a step uses;
/// - a step has operands, uses temporaries while they live, and ends with one that it may write;
/// - operands are in the memory of their step's engine; those of a transfer in the host's and its
///   engine's;
/// - a library step has as many operands and parameters as its routine takes;
/// - a launch has a block of a size that devices have, and takes operands that its step has.
/// Conditions on the values of symbols are checked when they are bound (Binding.h).
std::string programFault(const Program &program);
/// Like `programFault`, for symbols, inputs and outputs alone.
std::string interfaceFault(const Program &program);

/// The one engine that runs all steps; nothing if there are several. Without steps, the host's.
std::optional<std::string> soleEngine(const Program &program);

/// Throws Error naming the file a program comes from; if it was made here, InternalError.
[[noreturn]] void failUnsound(const Program &program, const std::string &what);

/// Fails if there is a fault.
void verifyProgram(const Program &program);

} // namespace headrace
