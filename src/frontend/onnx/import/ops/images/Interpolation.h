// Images in another resolution, axis by axis.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

struct ResizedAxis {
  int64_t axis;
  mlir::AffineExpr from, to;
  /// The ratio of the result's size to the input's, if it is given or the sizes are known.
  std::optional<double> scale;
  bool hasSize = false; // it is the quotient of the sizes, without a remainder
  /// The part of the input that is taken (tf_crop_and_resize), in units of its size less 1.
  double begin = 0, end = 1;
  bool takesNext =
      false; // of two pixels the one after the place, whatever `Interpolation::nearest`
};

struct Interpolation {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubicCoefficient = -0.75, extrapolated = 0;
  bool antialias = false, excludesOutside = false;

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

/// The input in the sizes of the axes given.
mlir::Value interpolate(NodeContext &c, const Interpolation &how, mlir::Value input,
                        llvm::ArrayRef<ResizedAxis> axes);

} // namespace headrace::onnx
