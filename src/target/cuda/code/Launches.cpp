#include "target/cuda/code/Launches.h"

#include "dialect/SymbolicShape.h"
#include "target/cuda/write/KernelWriter.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

DimExpr sizeOf(Attribute map) {
  return toDimExpr(cast<AffineMapAttr>(map).getValue().getResult(0));
}

LaunchParameter parameterOf(DictionaryAttr record) {
  LaunchParameter parameter;
  if (auto buffer = record.getAs<IntegerAttr>("buffer")) {
    parameter.kind = LaunchParameter::Kind::Buffer;
    parameter.index = static_cast<int>(buffer.getInt());
  } else if (auto matrix = record.getAs<IntegerAttr>("tensor_map")) {
    parameter.kind = LaunchParameter::Kind::TensorMap;
    parameter.index = static_cast<int>(matrix.getInt());
    parameter.size = sizeOf(record.get("workspace"));
    LaunchParameter::Tile &tile = parameter.tile;
    tile.dtype = toDType(record.getAs<TypeAttr>("element").getValue());
    for (AffineExpr size : record.getAs<AffineMapAttr>("shape").getValue().getResults())
      tile.dims.push_back(toDimExpr(size));
    ArrayRef<int64_t> box = record.getAs<DenseI64ArrayAttr>("box").asArrayRef();
    tile.box.assign(box.begin(), box.end());
    tile.swizzleBytes = record.getAs<IntegerAttr>("swizzle").getInt();
  } else if (Attribute offset = record.get("workspace")) {
    parameter.kind = LaunchParameter::Kind::Workspace;
    parameter.size = sizeOf(offset);
  } else {
    parameter.kind = LaunchParameter::Kind::Size;
    parameter.size = sizeOf(record.get("size"));
  }
  return parameter;
}

} // namespace

std::vector<Launch> launchesOf(ModuleOp kernel) {
  std::vector<Launch> launches;
  for (Attribute entry : kernel->getAttrOfType<ArrayAttr>(kLaunchesAttr)) {
    auto record = cast<DictionaryAttr>(entry);
    Launch &launch = launches.emplace_back();
    launch.function = record.getAs<StringAttr>("function").str();
    AffineMap grid = record.getAs<AffineMapAttr>("grid").getValue();
    for (unsigned i = 0; i < 3; ++i)
      launch.grid[i] = toDimExpr(grid.getResult(i));
    launch.block[0] = static_cast<int>(record.getAs<IntegerAttr>("threads").getInt());
    if (auto shared = record.getAs<IntegerAttr>("shared"))
      launch.sharedBytes = shared.getInt();
    for (Attribute parameter : record.getAs<ArrayAttr>("parameters"))
      launch.parameters.push_back(parameterOf(cast<DictionaryAttr>(parameter)));
  }
  return launches;
}

DimExpr workspaceOf(ModuleOp kernel) { return sizeOf(kernel->getAttr(kWorkspaceAttr)); }

} // namespace headrace::cuda
