// Numbers that are integers times powers of two, as the accelerator computes the integers: what it
// reads, a product or pooling of it, then stages of its ALU.
//
// A chain knows the bounds of its integers, so that nothing wraps, and whether the program computes
// the same numbers: in f32 integers are exact up to 2^24.
#pragma once

#include "target/vta/schedule/Operator.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <stdexcept>

namespace headrace::vta {

/// Why values cannot be such integers, or the accelerator lacks a function of them.
class Unsupported : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct Range {
  int64_t low, high;
  int64_t magnitude() const { return std::max(high, -low); }
};

/// A tensor of integers in DRAM: of i8 as they are, of ui8 less 128.
struct Source {
  mlir::Value value;
  Image image;
};

class Chain {
public:
  std::variant<Convolution, MaxPool, Cells> core;
  /// Operands of the core, then those of stages (FromImage).
  llvm::SmallVector<Source, 2> sources;
  Image result;
  /// The dimension of the program's tensor that channels are.
  int64_t channelDim = 1;
  std::vector<AluStage> stages;
  /// A number is integer * 2^exponent: one for all, or one for each channel.
  std::vector<int> exponents = {0};
  Range range;
  /// The program's own numbers are the integers if those are smaller than this. The others are
  /// not smaller either.
  int64_t exactBelow = INT64_MAX;
  /// The program's operators in it; those from the core on, which compute what nothing else needs.
  llvm::SmallSetVector<mlir::Operation *, 8> operators, own;

  /// Integers in DRAM, as numbers. `known` are tighter bounds.
  static Chain of(const Source &source, int64_t channelDim, bool isUnsigned,
                  std::optional<Range> known);

  bool isUniform() const { return exponents.size() == 1; }
  /// Whether it is stored integers plus a number, and which. A product of it is a product of those
  /// plus a number for each channel.
  std::optional<int64_t> offsetOfCells() const;

  void add(int64_t number);
  void add(std::vector<int64_t> numbers);
  /// The integers of another tensor times 2^shift.
  void add(const Source &other, Range range, int shift);
  void multiply(std::vector<int64_t> factors);
  void clip(std::optional<int64_t> least, std::optional<int64_t> most);
  /// Multiply by 2^bits, divide by it rounding to the nearest even, divide by it rounding down.
  void shiftLeft(int bits);
  void roundShift(int bits);
  void floorShift(int bits);

  /// Notes from where on numbers of the type are not exact; 32-bit integers and more are.
  void computeIn(mlir::Type type);
  bool isExact() const { return range.magnitude() < exactBelow; }

private:
  void note(Range next);
};

/// The image that a tensor is: its dimensions are batch, channels, height and width; of a matrix
/// rows are the batch. Rejects dynamic dimensions.
Image imageOf(mlir::RankedTensorType type);

} // namespace headrace::vta
