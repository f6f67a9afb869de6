#include "target/vta/schedule/write/PoolWriter.h"

#include <algorithm>

namespace headrace::vta {

namespace {

/// The part of an image that windows of these results cover.
Part coveredBy(const Part &results, int64_t stride, int64_t pad, int64_t window,
               int64_t inputSize) {
  int64_t begin = std::max<int64_t>(0, results.begin * stride - pad);
  int64_t end = std::min(inputSize, (results.begin + results.size - 1) * stride - pad + window);
  return {begin, end - begin};
}

} // namespace

std::vector<PoolWriter::Band> PoolWriter::bandsOf(const Part &results, int64_t stride, int64_t pad,
                                                  int64_t window, int64_t inputSize) const {
  int64_t loaded = coveredBy(results, stride, pad, window, inputSize).begin;
  std::vector<Band> bands;
  int64_t cutBefore = -1; // positions that the window before has above the image
  for (int64_t r = 0; r < results.size; ++r) {
    Part inside = coveredBy({results.begin + r, 1}, stride, pad, window, inputSize);
    int64_t cut = inside.begin - ((results.begin + r) * stride - pad);
    if (!bands.empty() && cut == cutBefore && bands.back().positions == inside.size)
      ++bands.back().results.size;
    else
      bands.push_back({{r, 1}, inside.begin - loaded, inside.size});
    cutBefore = cut;
  }
  return bands;
}

void PoolWriter::load(const Tile &tile, const Part &rows, const Part &columns) {
  int64_t plane = shape.inputHeight * shape.inputWidth;
  forEachRectangle(
      merged({{tile.batch.size, shape.out * plane},
              {tile.out.size, plane},
              {rows.size, shape.inputWidth},
              {columns.size, 1}}),
      (tile.batch.begin * shape.out + tile.out.begin) * plane + rows.begin * shape.inputWidth +
          columns.begin,
      plan.sourceAt, [&](int64_t first, int64_t width, int64_t height, int64_t stride, int64_t at) {
        stream.load(Memory::Acc8, at, {buffers.inputs[0], first, width, height, stride});
      });
}

void PoolWriter::write(const Tile &tile, int64_t address) {
  Part rows = coveredBy(tile.rows, shape.strideY, shape.padTop, shape.windowY, shape.inputHeight);
  Part columns =
      coveredBy(tile.columns, shape.strideX, shape.padLeft, shape.windowX, shape.inputWidth);
  load(tile, rows, columns);
  for (const Band &y :
       bandsOf(tile.rows, shape.strideY, shape.padTop, shape.windowY, shape.inputHeight))
    for (const Band &x :
         bandsOf(tile.columns, shape.strideX, shape.padLeft, shape.windowX, shape.inputWidth))
      writeBand(tile, y, x, rows, columns, address);
}

// The first position of a window is added to the zeros, the others are compared: the rest of the
// first row, then the rows below.
void PoolWriter::writeBand(const Tile &tile, const Band &y, const Band &x, const Part &rows,
                           const Part &columns, int64_t address) {
  int64_t area = rows.size * columns.size;
  int64_t dst = address + y.results.begin * tile.columns.size + x.results.begin,
          src = plan.sourceAt + y.first * columns.size + x.first;
  auto sweep = [&](AluOp op, int64_t ky, int64_t kx, int64_t height, int64_t width) {
    if (height == 0 || width == 0)
      return;
    stream.run(MicroCode::alu(op),
               sweepOf({{tile.batch.size, tile.out.size * tile.plane(), tile.out.size * area},
                        {tile.out.size, tile.plane(), area},
                        {y.results.size, tile.columns.size, shape.strideY * columns.size},
                        {x.results.size, 1, shape.strideX},
                        {height, 0, columns.size},
                        {width, 0, 1}},
                       {1, dst, src + ky * columns.size + kx}));
  };
  sweep(AluOp::Add, 0, 0, 1, 1);
  sweep(AluOp::Max, 0, 1, 1, x.positions - 1);
  sweep(AluOp::Max, 1, 0, y.positions - 1, x.positions);
}

} // namespace headrace::vta
