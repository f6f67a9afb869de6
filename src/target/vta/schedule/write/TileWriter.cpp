#include "target/vta/schedule/write/TileWriter.h"

namespace headrace::vta {

void TileWriter::reset(int64_t address, int64_t count) {
  stream.run(MicroCode::reset(), sweepOf({{count, 1}}, {1, address}));
}

void TileWriter::apply(AluOp op, int32_t immediate, int64_t address, int64_t count) {
  stream.run(MicroCode::alu(op, immediate), sweepOf({{count, 1}}, {1, address}));
}

void TileWriter::applyBeside(AluOp op, int64_t dst, int64_t src, int64_t count) {
  stream.run(MicroCode::alu(op), sweepOf({{count, 1, 1}}, {1, dst, src}));
}

// --- DRAM --------------------------------------------------------------------------------------

std::vector<BoxDimension> TileWriter::boxOf(const Tile &tile) const {
  int64_t plane = shape.height * shape.width;
  return merged({{tile.batch.size, shape.out * plane},
                 {tile.out.size, plane},
                 {tile.rows.size, shape.width},
                 {tile.columns.size, 1}});
}

int64_t TileWriter::firstOf(const Tile &tile) const {
  return ((tile.batch.begin * shape.out + tile.out.begin) * shape.height + tile.rows.begin) *
             shape.width +
         tile.columns.begin;
}

void TileWriter::loadCells(size_t buffer, DType type, const Tile &tile, int64_t address) {
  forEachRectangle(boxOf(tile), firstOf(tile), address,
                   [&](int64_t first, int64_t columns, int64_t rows, int64_t stride, int64_t at) {
                     stream.load(type == DType::I8 ? Memory::Acc8 : Memory::Acc, at,
                                 {buffer, first, columns, rows, stride});
                   });
}

void TileWriter::store(const Tile &tile, int64_t address) {
  forEachRectangle(boxOf(tile), firstOf(tile), address,
                   [&](int64_t first, int64_t columns, int64_t rows, int64_t stride, int64_t at) {
                     stream.store({buffers.result, first, columns, rows, stride}, at);
                   });
}

// --- stages ------------------------------------------------------------------------------------

void TileWriter::loadConstants(const Tile &tile) {
  Part wanted = plan.constantsStay ? Part{0, shape.out} : tile.out;
  if (constantsOf && constantsOf->begin == wanted.begin && constantsOf->size == wanted.size)
    return;
  constantsOf = wanted;
  auto kinds = static_cast<int64_t>(stages.constants.size());
  forEachRectangle(merged({{kinds, shape.out}, {wanted.size, 1}}), wanted.begin, 0,
                   [&](int64_t first, int64_t columns, int64_t rows, int64_t stride, int64_t at) {
                     stream.load(Memory::Acc, at,
                                 {buffers.constants, first, columns, rows, stride});
                   });
}

void TileWriter::applyConstant(const AluPass &pass, const Tile &tile, int64_t address) {
  loadConstants(tile);
  int64_t first = pass.value * constantsOf->size + tile.out.begin - constantsOf->begin;
  stream.run(MicroCode::alu(pass.op), sweepOf({{tile.batch.size, tile.out.size * tile.plane()},
                                               {tile.out.size, tile.plane(), 1},
                                               {tile.plane(), 1}},
                                              {1, address, first}));
}

void TileWriter::finish(const Tile &tile, int64_t address) {
  int64_t count = tile.elements();
  for (const AluPass &pass : stages.passes) {
    int64_t target = pass.onCopy ? plan.copyAt : address;
    switch (pass.kind) {
    case AluPass::Kind::Immediate:
      apply(pass.op, pass.value, target, count);
      break;
    case AluPass::Kind::Constant:
      applyConstant(pass, tile, target);
      break;
    case AluPass::Kind::Beside:
      applyBeside(pass.op, address, plan.copyAt, count);
      break;
    case AluPass::Kind::Copy:
      reset(plan.copyAt, count);
      applyBeside(AluOp::Add, plan.copyAt, address, count);
      break;
    case AluPass::Kind::Load:
      loadCells(buffers.inputs[static_cast<size_t>(pass.value)], pass.type, tile, plan.copyAt);
      break;
    }
  }
}

} // namespace headrace::vta
