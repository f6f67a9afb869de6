#include "frontend/onnx/read/MovingOperators.h"

namespace headrace::onnx {

// clang-format off
static constexpr MovingOperator kOperators[] = {
    // name           integers  scale  only rearranges
    {"Clip",          false,    true,  false},
    {"Concat",        true,     false, true},
    {"DepthToSpace",  true,     true,  false},
    {"Dropout",       false,    true,  false},
    {"Expand",        true,     true,  false},
    {"Flatten",       true,     true,  true},
    {"Gather",        true,     true,  false},
    {"GlobalMaxPool", true,     true,  false},
    {"Identity",      false,    true,  true},
    {"MaxPool",       true,     true,  false},
    {"Pad",           false,    true,  false},
    {"Relu",          false,    true,  false},
    {"Reshape",       true,     true,  true},
    {"Slice",         true,     true,  true},
    {"SpaceToDepth",  true,     true,  false},
    {"Split",         false,    true,  true},
    {"Squeeze",       true,     true,  true},
    {"Tile",          true,     true,  false},
    {"Transpose",     true,     true,  true},
    {"Unsqueeze",     true,     true,  true},
};
// clang-format on

const MovingOperator *findMovingOperator(std::string_view opType) {
  for (const MovingOperator &row : kOperators)
    if (row.name == opType)
      return &row;
  return nullptr;
}

} // namespace headrace::onnx
