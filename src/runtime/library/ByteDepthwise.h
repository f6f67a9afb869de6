// Convolutions of bytes in which each channel has a filter of its own, with bytes as results: the
// library routines "int8.finished_depthwise" and "int8.added_depthwise".
#pragma once

#include "runtime/library/ByteProduct.h"

namespace headrace {

/// The parameters of an int8 depthwise convolution.
struct ByteDepthwise {
  BytePatches patches;
  int64_t rows; // positions of the window in all images
  bool unsignedImage = false, unsignedFilter = false;

  int64_t taps() const { return patches.window[0] * patches.window[1] * patches.window[2]; }
};

/// The filter, [tap][channel], as kernels read it: 32 bits for each byte, channels filled up to a
/// multiple of 16.
Tensor packedTaps(const ByteDepthwise &depthwise, const uint8_t *filter);
int64_t packedTapBytes(const ByteDepthwise &depthwise);

/// Operands as of multiplyToBytes.
void convolveToBytes(const ByteDepthwise &depthwise, const Int8EpilogueWriter &finisher,
                     const BytePlaces &places, const uint8_t *image, const uint8_t *taps,
                     const uint8_t *other, uint8_t *to, ThreadPool &pool,
                     bytes::Kind kind = bytes::bestKind());

/// The routines behind steps: operands image, packed taps, the finish's record, the other tensor
/// if it adds one, and the result; parameters: rows, whether the image is unsigned, whether the
/// filter is, the members of BytePatches, the form of the finish, the members of BytePlaces.
void runDepthwiseStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                      ThreadPool &pool);
template <bool addsOther>
std::string depthwiseStepFault(std::span<const int64_t> parameters,
                               std::span<const int64_t> operandBytes);

} // namespace headrace
