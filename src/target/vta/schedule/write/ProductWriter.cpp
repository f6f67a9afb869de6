#include "target/vta/schedule/write/ProductWriter.h"

#include <algorithm>

namespace headrace::vta {

void ProductWriter::addStep(Pipeline &pipeline, const Tile &tile, int64_t accumulators,
                            const Part &in) {
  Resident::Place inp = inputs.find(
      {tile.batch.begin, tile.rows.begin, tile.columns.begin, tile.firstIn + in.begin, in.size});
  Resident::Place wgt = weights.find({tile.out.begin, in.begin});
  if (!inp.isThere || !wgt.isThere) {
    auto load = [=, this] {
      if (!wgt.isThere)
        loadWeights(tile, in, wgt.address);
      if (!inp.isThere)
        loadInputs(tile, in, inp.address);
    };
    // A single thread transfers or computes.
    Pipeline::Action before = schedule.threads == 1 ? lastProduct : Pipeline::none;
    lastLoad = pipeline.add(Module::Load, load, {inp.freedBy, wgt.freedBy, before});
  }
  lastProduct = pipeline.add(
      Module::Compute, [=, this] { multiply(tile, in, accumulators, inp.address, wgt.address); },
      {lastLoad});
  inputs.usedBy(inp.slot, lastProduct);
  weights.usedBy(wgt.slot, lastProduct);
}

void ProductWriter::loadInputs(const Tile &tile, const Part &in, int64_t address) {
  // Windows of one row that are apart: only their rows are read.
  int64_t rowStep = shape.windowY == 1 ? shape.strideY : 1;
  int64_t top = tile.rows.begin * shape.strideY - shape.padTop,
          left = tile.columns.begin * shape.strideX - shape.padLeft;
  int64_t rows = shape.inputRows(tile.rows.size), columns = shape.inputColumns(tile.columns.size);
  int64_t bottom = top + (rows - 1) * rowStep + 1, right = left + columns;
  Padding padding = {std::max<int64_t>(0, -top), std::max<int64_t>(0, bottom - shape.inputHeight),
                     std::max<int64_t>(0, -left), std::max<int64_t>(0, right - shape.inputWidth)};
  bool isPadded = padding.top + padding.bottom + padding.left + padding.right > 0;
  int64_t plane = shape.inputHeight * shape.inputWidth;
  std::vector<BoxDimension> planes = {{tile.batch.size, shape.in * plane}, {in.size, plane}};
  std::vector<BoxDimension> rectangle = {
      {rows - padding.top - padding.bottom, shape.inputWidth * rowStep},
      {columns - padding.left - padding.right, 1}};
  int64_t first = (tile.batch.begin * shape.in + tile.firstIn + in.begin) * plane +
                  std::max<int64_t>(0, top) * shape.inputWidth + std::max<int64_t>(0, left);
  auto load = [&](int64_t from, int64_t width, int64_t height, int64_t stride, int64_t at) {
    stream.load(Memory::Inp, at, {buffers.inputs[0], from, width, height, stride}, padding);
  };
  if (!isPadded) {
    planes.insert(planes.end(), rectangle.begin(), rectangle.end());
    forEachRectangle(merged(planes), first, address, load);
    return;
  }
  for (int64_t n = 0; n < planes[0].size; ++n)
    for (int64_t i = 0; i < planes[1].size; ++i)
      load(first + n * planes[0].step + i * planes[1].step, rectangle[1].size, rectangle[0].size,
           rectangle[0].step, address + (n * in.size + i) * rows * columns);
}

void ProductWriter::loadWeights(const Tile &tile, const Part &in, int64_t address) {
  int64_t window = shape.window();
  forEachRectangle(merged({{tile.out.size, shape.depth * window}, {in.size * window, 1}}),
                   (tile.out.begin * shape.depth + in.begin) * window, address,
                   [&](int64_t from, int64_t width, int64_t height, int64_t stride, int64_t at) {
                     stream.load(Memory::Wgt, at, {buffers.weights, from, width, height, stride});
                   });
}

void ProductWriter::multiply(const Tile &tile, const Part &in, int64_t acc, int64_t inp,
                             int64_t wgt) {
  int64_t columns = shape.inputColumns(tile.columns.size),
          area = shape.inputRows(tile.rows.size) * columns, window = shape.window();
  std::vector<Loop> loops = {
      {tile.batch.size, tile.out.size * tile.plane(), in.size * area, 0},
      {tile.out.size, tile.plane(), 0, in.size * window},
      {tile.rows.size, tile.columns.size, shape.rowStep() * columns, 0},
      {tile.columns.size, 1, shape.strideX, 0},
      {in.size, 0, area, window},
      {shape.windowY, 0, columns, shape.windowX},
      {shape.windowX, 0, 1, 1},
  };
  stream.run(MicroCode::gemm(), sweepOf(std::move(loops), {1, acc, inp, wgt}));
}

} // namespace headrace::vta
