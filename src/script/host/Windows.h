#pragma once

#include "script/host/HostFunctions.h"

/// Images as scripts have them, a row each, and windows that move over them.
namespace headrace::script {

/// The sizes of a convolution or a pooling: images of channels x height x width, a window that
/// moves by strides over the padded image, rows x cols results for each channel of the result.
struct Windows {
  int64_t images, channels, height, width;
  int64_t filters = 0; ///< of a convolution
  int64_t windowHeight, windowWidth;
  int64_t strideHeight, strideWidth, padHeight, padWidth;

  int64_t rows() const { return (height + 2 * padHeight - windowHeight) / strideHeight + 1; }
  int64_t cols() const { return (width + 2 * padWidth - windowWidth) / strideWidth + 1; }
  int64_t imageCells() const { return channels * height * width; }
  int64_t windowCells() const { return channels * windowHeight * windowWidth; }
  int64_t places() const { return rows() * cols(); }

  /// Calls visit(cell of the window, cell of the image) for a channel of the window at a place;
  /// cells of the padding are left out.
  template <class Visit> void forEachCell(int64_t channel, int64_t place, Visit visit) const {
    int64_t top = place / cols() * strideHeight - padHeight;
    int64_t left = place % cols() * strideWidth - padWidth;
    for (int64_t i = 0; i < windowHeight; ++i)
      for (int64_t j = 0; j < windowWidth; ++j)
        if (top + i >= 0 && top + i < height && left + j >= 0 && left + j < width)
          visit((channel * windowHeight + i) * windowWidth + j,
                (channel * height + top + i) * width + left + j);
  }
};

/// From the arguments input_shape, filter_shape or pool_size, stride and padding, checked.
Windows windowsOf(const HostCall &call, bool convolution);

/// The argument as a matrix of these sizes.
Tensor cellsOfSize(const HostCall &call, size_t argument, int64_t rows, int64_t cols);

} // namespace headrace::script
