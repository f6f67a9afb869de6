// Nodes that read images where data says.
#include "frontend/onnx/import/ops/images/Regions.h"

namespace headrace::onnx {

OperatorFamily regionOperators() {
  static const Operator table[] = {
      {"RoiAlign", 10, importRoiAlign},
      {"MaxRoiPool", 1, importMaxRoiPool},
      {"DeformConv", 19, importDeformConv},
  };
  return table;
}

} // namespace headrace::onnx
