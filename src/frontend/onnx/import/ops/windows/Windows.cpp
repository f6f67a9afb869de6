// The attributes of a window that slides over the spatial dimensions.
#include "frontend/onnx/import/ops/windows/Windows.h"

#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

SmallVector<int64_t> windowNumbers(NodeContext &c, const char *attribute, size_t count,
                                   int64_t otherwise, int64_t least) {
  std::vector<int64_t> found = c.node.getInts(attribute, std::vector<int64_t>(count, otherwise));
  if (found.size() != count)
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected {1} values, got {2}", attribute,
           count, found.size());
  for (int64_t number : found)
    if (number < least || number > kMaxWindow)
      c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected values from {1} to {2}, got {3}",
             attribute, least, kMaxWindow, number);
  return SmallVector<int64_t>(found.begin(), found.end());
}

Window readWindow(NodeContext &c, ArrayRef<int64_t> size) {
  Window window;
  window.size.assign(size.begin(), size.end());
  size_t rank = size.size();
  window.strides = windowNumbers(c, "strides", rank, 1, 1);
  window.dilations = windowNumbers(c, "dilations", rank, 1, 1);
  window.pads = windowNumbers(c, "pads", 2 * rank, 0, 0);
  std::string mode = c.node.getString("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
    padToSameSize(c, window, mode == "SAME_UPPER");
  else if (mode == "VALID")
    window.pads.assign(2 * rank, 0);
  else if (mode != "NOTSET")
    c.fail(ErrorKind::InvalidModel,
           "attribute 'auto_pad': expected NOTSET, VALID, SAME_UPPER or SAME_LOWER, got {0}",
           inQuotes(mode));
  return window;
}

size_t spatialRank(NodeContext &c) {
  if (c.rank(0) < 3)
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected rank 3 or more (batch, channels, spatial), got {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
  return c.rank(0) - 2;
}

} // namespace headrace::onnx
