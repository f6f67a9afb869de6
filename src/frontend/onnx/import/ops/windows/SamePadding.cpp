// Windows whose pads make the result as large as the input divided by the stride. With a dynamic
// dimension and a stride above 1 the pads depend on the size:
//
//   padded size = stride * ceil(size / stride) + extent - stride, low pad = (padded - size) / 2
//
// Operators have pads that are numbers; so the image is padded as far as any size needs, and the
// part from the low pad on is taken of it.
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/windows/Windows.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

/// Low and high pads together; none are needed if the dilation is as long.
static AffineExpr totalPads(AffineExpr size, int64_t stride, int64_t extent) {
  if (extent >= stride)
    return size.ceilDiv(stride) * stride + (extent - stride) - size;
  // As many as the last window lacks: one for each of its elements from the second on that lies
  // beyond the `rest` elements after its first one.
  AffineExpr rest = (size - 1) % stride, total = size * 0;
  for (int64_t i = 1; i < extent; ++i)
    total = total + 1 - (rest + (stride - i)).floorDiv(stride);
  return total;
}

/// Far beyond any dilated window; bounds the expression of its pads.
static constexpr int64_t kMaxTerms = 64;

void padToSameSize(NodeContext &c, Window &window, bool moreAtEnd) {
  size_t rank = window.rank();
  Window::OpenPads open;
  bool isOpen = false;
  for (size_t i = 0; i < rank; ++i) {
    AffineExpr dim = c.shape(0)[i + 2];
    int64_t stride = window.strides[i], extent = window.extent(i), most = extent - 1;
    auto size = constantValue(dim);
    if (size)
      most = std::max<int64_t>((llvm::divideCeil(*size, stride) - 1) * stride + extent - *size, 0);
    int64_t less = most / 2, more = most - less;
    window.pads[i] = moreAtEnd ? less : more;
    window.pads[rank + i] = moreAtEnd ? more : less;
    if (size || stride == 1 || extent == 1) {
      open.low.push_back(c.dim(window.pads[i]));
      open.paddedSizes.push_back(dim + most);
      continue;
    }
    if (extent < stride && extent > kMaxTerms)
      c.fail(ErrorKind::Unsupported,
             "auto_pad over the dynamic dimension {0}: expected a window of at most {1} elements, "
             "or one as long as the stride {2}, got {3}",
             c.text({dim}), kMaxTerms, stride, extent);
    AffineExpr total = totalPads(dim, stride, extent), half = total.floorDiv(2);
    open.low.push_back(moreAtEnd ? half : total - half);
    open.paddedSizes.push_back(dim.ceilDiv(stride) * stride + (extent - stride));
    isOpen = true;
  }
  if (isOpen)
    window.open = std::move(open);
}

Value padOpenSizes(NodeContext &c, Value image, Window &window, TypedAttr value) {
  if (!window.open)
    return image;
  size_t rank = window.rank();
  SmallVector<int64_t> low(2, 0), high(2, 0), ones(rank + 2, 1);
  low.append(window.pads.begin(), window.pads.begin() + rank);
  high.append(window.pads.begin() + rank, window.pads.end());
  SymbolicShape starts(2, c.dim(0)), sizes(ArrayRef(shapeOf(image)).take_front(2));
  for (size_t i = 0; i < rank; ++i)
    starts.push_back(normalized(c.dim(window.pads[i]) - window.open->low[i]));
  sizes.append(window.open->paddedSizes);
  window.pads.assign(2 * rank, 0);
  window.open.reset();
  return c.slice(c.infer<hr::PadOp>(image, low, high, value), starts, sizes, ones);
}

} // namespace headrace::onnx
