#include "explore/Operators.h"

#include "runtime/system/Error.h"

namespace headrace::explore {

namespace {

// Results go to memory once before they are read: they come in another order than they are read.
Stream store(GraphWriter &writer, Stream result, int times) {
  for (int i = 0; i < times; ++i) {
    std::string suffix = i == 0 ? "" : std::to_string(i + 1);
    Stream stored = writer.buffer("stored" + suffix, {result}, result.volume);
    result = writer.task("copy" + suffix, {stored}, result.volume, result.volume);
  }
  return result;
}

Stream addUp(GraphWriter &writer, std::vector<Stream> terms, const std::string &name) {
  for (int number = 0; terms.size() > 1;) {
    std::vector<Stream> sums;
    for (size_t i = 0; i + 1 < terms.size(); i += 2)
      sums.push_back(writer.task(name + std::to_string(number++), {terms[i], terms[i + 1]},
                                 terms[i].volume, terms[i].volume));
    if (terms.size() % 2 == 1)
      sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms.front();
}

struct Cut {
  const char *task;
  int64_t count, reads, writes;
};

Cut cutOf(const ContractionSizes &s, Form form, Convention convention) {
  bool tight = convention == Convention::Tight;
  switch (form) {
  case Form::MatrixVector:
    return {"column", s.n, s.m * s.k, tight ? s.m : s.m * s.n};
  case Form::OuterProduct:
    return {"product", s.k, tight ? std::max(s.m, s.n) : s.m * s.n,
            tight ? s.m * s.n : s.k * s.m * s.n};
  case Form::LeftMatrixVector:
    return {"row", s.m, s.k * s.n, tight ? s.n : s.m * s.n};
  case Form::Direct:
    break;
  }
  throw InternalError("a contraction has no direct form");
}

Stream writeDirect(GraphWriter &writer, const Stream &image, const ConvolutionSizes &sizes) {
  ContractionSizes s = sizes.contraction();
  Stream held = writer.buffer("image", {image}, s.n);
  std::vector<Stream> results;
  for (int64_t filter = 0; filter < s.m; ++filter) {
    std::string name = std::to_string(filter);
    std::vector<Stream> taps;
    for (int64_t tap = 0; tap < s.k; ++tap)
      taps.push_back(writer.task("tap" + name + "_" + std::to_string(tap), {held}, s.n, s.n));
    results.push_back(addUp(writer, taps, "sum" + name + "_"));
  }
  return store(writer, writer.task("merge", results, s.n, s.m * s.n), 1);
}

} // namespace

std::string_view nameOf(Form form) {
  constexpr std::string_view names[] = {"mv", "op", "lmv", "direct"};
  return names[static_cast<int>(form)];
}

std::string_view nameOf(Convention convention) {
  return convention == Convention::Tight ? "tight" : "slide";
}

Stream writeContraction(GraphWriter &writer, const Stream &right, const ContractionSizes &sizes,
                        Form form, Convention convention) {
  bool tight = convention == Convention::Tight;
  Cut cut = cutOf(sizes, form, convention);
  Stream held = writer.buffer("operand", {right}, cut.reads);
  std::vector<Stream> parts;
  for (int64_t i = 0; i < cut.count; ++i)
    parts.push_back(writer.task(cut.task + std::to_string(i), {held}, cut.reads, cut.writes));
  Stream result = parts.front();
  int64_t elements = sizes.m * sizes.n;
  if (form == Form::OuterProduct && tight)
    result = addUp(writer, parts, "sum");
  else if (parts.size() > 1 || result.volume != elements)
    result =
        writer.task(form == Form::OuterProduct ? "reduce" : "merge", parts, cut.writes, elements);
  return store(writer, result, tight || form == Form::MatrixVector ? 1 : 2);
}

Stream writeConvolution(GraphWriter &writer, const Stream &image, const ConvolutionSizes &sizes,
                        Form form, Convention convention) {
  if (form == Form::Direct)
    return writeDirect(writer, image, sizes);
  ContractionSizes s = sizes.contraction();
  bool asWritten = convention == Convention::Slide && writer.isInput(image);
  Stream patches = writer.task("patches", {image}, asWritten ? s.k * s.n : image.volume, s.k * s.n);
  return writeContraction(writer, patches, s, form, convention);
}

Stream writeElementwise(GraphWriter &writer, const Stream &input) {
  return writer.task("map", {input}, input.volume, input.volume);
}

Stream writePool(GraphWriter &writer, const Stream &input, int64_t outputs) {
  return writer.task("pool", {input}, input.volume, outputs);
}

// Twice all elements are needed after a reduction over them: buffers hold them until then.
Stream writeSoftmax(GraphWriter &writer, const Stream &input, int64_t rows) {
  int64_t volume = input.volume;
  Stream largest = writer.task("max", {input}, volume, rows);
  Stream spreadMax = writer.task("spread_max", {largest}, rows, volume);
  Stream held = writer.buffer("elements", {input}, volume);
  Stream powers = writer.task("exp", {held, spreadMax}, volume, volume);
  Stream sum = writer.task("sum", {powers}, volume, rows);
  Stream spreadSum = writer.task("spread_sum", {sum}, rows, volume);
  Stream heldPowers = writer.buffer("powers", {powers}, volume);
  return writer.task("divide", {heldPowers, spreadSum}, volume, volume);
}

} // namespace headrace::explore
