#include "script/host/Windows.h"

namespace headrace::script {

/// `[a, b]`: positive sizes, or also 0 if that is allowed.
static std::vector<int64_t> sizesOf(const HostCall &call, const char *name, size_t count,
                                    int64_t least) {
  size_t at = call.parameter(name);
  if (!call.given(at))
    call.fail("expected the argument '" + std::string(name) + "'");
  const List &list = call.arguments[at].list(name);
  if (list.entries.size() != count)
    call.fail("expected " + std::to_string(count) + " sizes in '" + name + "', got " +
              std::to_string(list.entries.size()));
  std::vector<int64_t> sizes;
  for (const auto &[key, entry] : list.entries) {
    int64_t size = entry.truncated(name);
    if (size < least || size > int64_t(1) << 31)
      call.fail("expected sizes from " + std::to_string(least) + " in '" + name + "', got " +
                std::to_string(size));
    sizes.push_back(size);
  }
  return sizes;
}

Windows windowsOf(const HostCall &call, bool convolution) {
  std::vector<int64_t> input = sizesOf(call, "input_shape", 4, 0);
  std::vector<int64_t> stride = sizesOf(call, "stride", 2, 1);
  std::vector<int64_t> padding = sizesOf(call, "padding", 2, 0);
  Windows windows{};
  windows.images = input[0];
  windows.channels = input[1];
  windows.height = input[2];
  windows.width = input[3];
  if (convolution) {
    std::vector<int64_t> filter = sizesOf(call, "filter_shape", 4, 1);
    if (filter[1] != windows.channels)
      call.fail("expected filters of " + std::to_string(windows.channels) + " channels, got " +
                    std::to_string(filter[1]),
                ErrorKind::ShapeMismatch);
    windows.filters = filter[0];
    windows.windowHeight = filter[2];
    windows.windowWidth = filter[3];
  } else {
    std::vector<int64_t> pool = sizesOf(call, "pool_size", 2, 1);
    windows.windowHeight = pool[0];
    windows.windowWidth = pool[1];
  }
  windows.strideHeight = stride[0];
  windows.strideWidth = stride[1];
  windows.padHeight = padding[0];
  windows.padWidth = padding[1];
  if (windows.height + 2 * windows.padHeight < windows.windowHeight ||
      windows.width + 2 * windows.padWidth < windows.windowWidth)
    call.fail("a window of " +
                  sizesText(static_cast<double>(windows.windowHeight),
                            static_cast<double>(windows.windowWidth)) +
                  " does not fit into a padded image of " +
                  sizesText(static_cast<double>(windows.height + 2 * windows.padHeight),
                            static_cast<double>(windows.width + 2 * windows.padWidth)),
              ErrorKind::ShapeMismatch);
  checkMatrixSize(call.name(), static_cast<double>(windows.images),
                  static_cast<double>(windows.imageCells()));
  checkMatrixSize(call.name(), static_cast<double>(windows.windowCells()),
                  static_cast<double>(windows.places()));
  return windows;
}

Tensor cellsOfSize(const HostCall &call, size_t argument, int64_t rows, int64_t cols) {
  Tensor cells = call.dense(argument);
  if (cells.shape()[0] != rows || cells.shape()[1] != cols)
    call.fail("expected a matrix of " +
                  sizesText(static_cast<double>(rows), static_cast<double>(cols)) + ", got " +
                  describe(call.arguments[argument]),
              ErrorKind::ShapeMismatch);
  return cells;
}

} // namespace headrace::script
