#include "explore/operators/Operators.h"

#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

namespace headrace::explore {

namespace {

// Results go to memory once before they are read: they come in another order than they are read.
Stream store(GraphWriter &writer, Stream result, int times, int64_t points) {
  for (int i = 0; i < times; ++i) {
    std::string suffix = i == 0 ? "" : std::to_string(i + 1);
    Stream stored = writer.buffer("stored" + suffix, {result}, result.volume);
    result = writer.task("copy" + suffix, {stored}, result.volume, result.volume,
                         i + 1 == times ? points : 0);
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

// The share of an axis that each task takes, so that there are no more than `most`: all are equal.
int64_t shareOf(int64_t pieces, int64_t most) {
  int64_t share = dividedUp(pieces, std::max<int64_t>(most, 1));
  while (pieces % share != 0)
    ++share;
  return share;
}

struct Cut {
  const char *task;
  int64_t count;                 // in a batch, for rank-1 products; else in all
  int64_t reads, writes, points; // of each task
};

Cut cutOf(const ContractionSizes &s, Form form, const TaskOptions &options) {
  bool tight = options.convention == Convention::Tight;
  int64_t whole = s.batch * s.m * s.n;
  auto cut = [&](const char *task, int64_t pieces, int64_t reads, int64_t writes) -> Cut {
    int64_t share = shareOf(pieces, options.maxTasks);
    return {task, pieces / share, share * reads, tight ? share * writes : whole, share * reads};
  };
  switch (form) {
  case Form::MatrixVector:
    return cut("column", s.batch * s.n, s.m * s.k, s.m);
  case Form::LeftMatrixVector:
    return cut("row", s.batch * s.m, s.k * s.n, s.n);
  case Form::OuterProduct: {
    int64_t share = shareOf(s.k, options.maxTasks / s.batch), count = s.k / share;
    int64_t points = share * s.m * s.n;
    return {"product", count, tight && share == 1 ? std::max(s.m, s.n) : points,
            tight ? s.m * s.n : count * whole, points};
  }
  default:
    throw InternalError("a contraction has no variant " + std::string(nameOf(form)));
  }
}

// Rank-1 products, accumulated in a tree for each of a batch.
Stream writeProducts(GraphWriter &writer, const std::vector<Stream> &held, const Cut &cut,
                     const ContractionSizes &s, bool tight) {
  std::vector<Stream> sums, all;
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    std::string suffix = s.batch == 1 ? "" : std::to_string(batch) + "_";
    std::vector<Stream> parts;
    for (int64_t i = 0; i < cut.count; ++i)
      parts.push_back(writer.task(cut.task + suffix + std::to_string(i), held, cut.reads,
                                  cut.writes, cut.points));
    all.insert(all.end(), parts.begin(), parts.end());
    if (tight)
      sums.push_back(addUp(writer, parts, "sum" + suffix));
  }
  int64_t elements = s.batch * s.m * s.n;
  if (!tight)
    return all.size() > 1 || cut.writes != elements
               ? writer.task("reduce", all, cut.writes, elements)
               : all.front();
  return sums.size() > 1 ? writer.task("merge", sums, s.m * s.n, elements) : sums.front();
}

Stream writeDirect(GraphWriter &writer, const std::vector<Stream> &operands,
                   const ContractionSizes &s, const TaskOptions &options, int64_t fusedPoints) {
  std::vector<Stream> held;
  for (const Stream &operand : operands)
    held.push_back(writer.buffer(held.empty() ? "image" : "filters", {operand}, s.n));
  int64_t filters = s.batch * s.m, share = shareOf(s.k, options.maxTasks / filters);
  std::vector<Stream> results;
  for (int64_t filter = 0; filter < filters; ++filter) {
    std::string name = std::to_string(filter);
    std::vector<Stream> taps;
    for (int64_t tap = 0; tap < s.k / share; ++tap) {
      std::vector<Stream> read = held;
      if (share > 1) // taps that one task adds up are read one after the other
        for (Stream &stream : read)
          stream = writer.buffer("taps" + name + "_" + std::to_string(tap), {stream}, share * s.n);
      taps.push_back(writer.task("tap" + name + "_" + std::to_string(tap), read, share * s.n, s.n,
                                 share * s.n));
    }
    results.push_back(addUp(writer, taps, "sum" + name + "_"));
  }
  return store(writer, writer.task("merge", results, s.n, filters * s.n), 1, fusedPoints);
}

} // namespace

std::string_view nameOf(Form form) {
  constexpr std::string_view names[] = {"mv", "op", "lmv", "direct", "lu", "cholesky"};
  return names[static_cast<int>(form)];
}

std::string_view nameOf(Convention convention) {
  return convention == Convention::Tight ? "tight" : "slide";
}

Stream writeContraction(GraphWriter &writer, const std::vector<Stream> &operands,
                        const ContractionSizes &sizes, Form form, const TaskOptions &options,
                        int64_t fusedPoints) {
  bool tight = options.convention == Convention::Tight;
  Cut cut = cutOf(sizes, form, options);
  std::vector<Stream> held;
  for (const Stream &operand : operands)
    held.push_back(writer.buffer(held.empty() ? "operand" : "operand2", {operand}, cut.reads));
  int64_t elements = sizes.batch * sizes.m * sizes.n;
  Stream result;
  if (form == Form::OuterProduct) {
    result = writeProducts(writer, held, cut, sizes, tight);
  } else {
    std::vector<Stream> parts;
    for (int64_t i = 0; i < cut.count; ++i)
      parts.push_back(
          writer.task(cut.task + std::to_string(i), held, cut.reads, cut.writes, cut.points));
    result = parts.front();
    if (parts.size() > 1 || result.volume != elements)
      result = writer.task("merge", parts, cut.writes, elements);
  }
  return store(writer, result, tight || form == Form::MatrixVector ? 1 : 2, fusedPoints);
}

Stream writeConvolution(GraphWriter &writer, const std::vector<Stream> &operands,
                        const ContractionSizes &sizes, Form form, const TaskOptions &options,
                        int64_t fusedPoints) {
  if (form == Form::Direct)
    return writeDirect(writer, operands, sizes, options, fusedPoints);
  const Stream &image = operands.front();
  int64_t volume = sizes.batch * sizes.k * sizes.n;
  bool asWritten = options.convention == Convention::Slide && image.isInput();
  std::vector<Stream> read = operands;
  read.front() = writer.task("patches", {image}, asWritten ? volume : image.volume, volume);
  return writeContraction(writer, read, sizes, form, options, fusedPoints);
}

static int64_t factorizationPoints(int64_t unknowns, bool lu) {
  int64_t points = 0;
  for (int64_t left = unknowns - 1; left >= 0; --left)
    points += lu ? left + left * left : 1 + left + left * (left + 1) / 2;
  return points;
}

int64_t systemPoints(const SystemSizes &s, Form form) {
  int64_t substitutions = s.unknowns * (s.unknowns + 1) * s.columns;
  return s.batch * s.scale * s.scale *
         (factorizationPoints(s.unknowns, form == Form::Lu) + substitutions);
}

// Triangles of a Cholesky factorization are half of what LU reads and gives. A complex point is
// four real ones. Backward substitution begins with the last element: all are stored before.
Stream writeSystems(GraphWriter &writer, const std::vector<Stream> &operands,
                    const SystemSizes &sizes, Form form, const TaskOptions &options,
                    int64_t fusedPoints) {
  int64_t share = shareOf(sizes.batch, options.maxTasks), n = sizes.unknowns;
  int64_t scale = sizes.scale * sizes.scale;
  bool lu = form == Form::Lu;
  int64_t triangle = n * (n + 1) / 2;
  int64_t matrix = share * sizes.scale * (lu ? n * n : triangle);
  int64_t factorPoints = share * scale * factorizationPoints(n, lu);
  int64_t solvePoints = share * scale * triangle * sizes.columns;
  int64_t right = share * sizes.scale * n * sizes.columns;
  Stream matrices = writer.buffer("matrices", {operands[0]}, std::max(matrix, factorPoints));
  Stream rights = writer.buffer("rights", {operands[1]}, std::max(right, solvePoints));
  std::vector<Stream> parts;
  for (int64_t i = 0; i < sizes.batch / share; ++i) {
    std::string number = std::to_string(i);
    Stream factor =
        writer.task("factor" + number, {matrices}, matrices.volume, matrix, factorPoints);
    Stream factors = writer.buffer("factors" + number, {factor}, rights.volume);
    Stream forward =
        writer.task("forward" + number, {factors, rights}, rights.volume, right, solvePoints);
    Stream stored = writer.buffer("between" + number, {forward}, rights.volume);
    parts.push_back(
        writer.task("backward" + number, {factors, stored}, rights.volume, right, solvePoints));
  }
  int64_t whole = sizes.batch * sizes.scale * n * sizes.columns;
  if (parts.size() == 1 && fusedPoints == 0)
    return parts.front();
  return writer.task("merge", parts, right, whole, fusedPoints);
}

} // namespace headrace::explore
