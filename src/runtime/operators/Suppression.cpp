// NonMaxSuppression: of boxes that overlap, the one with the highest score stays.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"
#include "runtime/system/ThreadPool.h"

#include <algorithm>
#include <cmath>

namespace headrace::operators {

namespace {

struct Box {
  float top, left, bottom, right, area;

  Box(float top, float left, float bottom, float right)
      : top(top), left(left), bottom(bottom), right(right), area((bottom - top) * (right - left)) {}
};

/// What is asked of the boxes that stay.
struct Limits {
  int64_t boxes = 0; // of each class, at most
  float overlap = 0;
  std::optional<float> score; // more than this
};

struct Candidate {
  float score;
  int64_t box;
};

/// Whether `a` is worse than `b`; of two equal scores, the earlier box is better.
bool isWorse(const Candidate &a, const Candidate &b) {
  return a.score != b.score ? a.score < b.score : a.box > b.box;
}

Box cornersOf(const float *box, bool isCentered) {
  if (isCentered) {
    float x = box[0], y = box[1], width = box[2] / 2, height = box[3] / 2;
    return {y - height, x - width, y + height, x + width};
  }
  // Any two opposite corners.
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

/// Boxes that stay, coordinate by coordinate: all are compared with a candidate at once, in vectors
/// and without branches.
class Kept {
public:
  int64_t count() const { return static_cast<int64_t>(area.size()); }

  void add(const Box &box) {
    top.push_back(box.top);
    left.push_back(box.left);
    bottom.push_back(box.bottom);
    right.push_back(box.right);
    area.push_back(box.area);
  }

  /// Whether one of them and the box share more than this part of all that both cover.
  bool covers(const Box &box, float most) const {
    constexpr size_t block = 64;
    for (size_t begin = 0; begin < area.size(); begin += block)
      if (covers(box, most, begin, std::min(begin + block, area.size())))
        return true;
    return false;
  }

private:
  bool covers(const Box &box, float most, size_t begin, size_t end) const {
    int isCovered = 0;
    for (size_t i = begin; i < end; ++i) {
      float height = std::min(box.bottom, bottom[i]) - std::max(box.top, top[i]);
      float width = std::min(box.right, right[i]) - std::max(box.left, left[i]);
      float shared = height * width, part = shared / (box.area + area[i] - shared);
      int areApart = (height <= 0) | (width <= 0) | (box.area <= 0) | (area[i] <= 0);
      // Nothing shared is more than a negative part.
      isCovered |= ((areApart ^ 1) & (part > most)) | (areApart & (0 > most));
    }
    return isCovered != 0;
  }

  std::vector<float> top, left, bottom, right, area;
};

/// The boxes of one class that stay, best first.
std::vector<int64_t> staying(std::span<const Box> boxes, const float *scores,
                             const Limits &limits) {
  // Candidates are written to the next place, and counted where they are some: scores are anything.
  std::vector<Candidate> candidates(boxes.size());
  size_t count = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    // NaN, which no order holds for, goes last.
    candidates[count] = {std::isnan(scores[i]) ? -INFINITY : scores[i], static_cast<int64_t>(i)};
    count += !limits.score || scores[i] > *limits.score;
  }
  candidates.resize(count);
  // Mostly a few of many stay: a heap gives the best ones without an order of all others.
  std::make_heap(candidates.begin(), candidates.end(), isWorse);
  std::vector<int64_t> chosen;
  Kept kept;
  while (!candidates.empty() && kept.count() < limits.boxes) {
    std::pop_heap(candidates.begin(), candidates.end(), isWorse);
    int64_t best = candidates.back().box;
    candidates.pop_back();
    if (kept.covers(boxes[best], limits.overlap))
      continue;
    kept.add(boxes[best]);
    chosen.push_back(best);
  }
  return chosen;
}

} // namespace

static std::optional<float> optionalNumber(HostCall &c, size_t i) {
  if (!c.has(i))
    return std::nullopt;
  std::vector<double> numbers = c.numbers(i);
  if (numbers.size() != 1)
    c.fail(ErrorKind::ShapeMismatch,
           c.nameOfInput(i) + ": expected one number, got " + describe(c.input(i)));
  return static_cast<float>(numbers.front());
}

static std::vector<RuntimeValue> nonMaxSuppression(HostCall &c) {
  Tensor boxes = c.tensor(0).converted(DType::F32), scores = c.tensor(1).converted(DType::F32);
  const Shape &boxShape = boxes.shape(), &scoreShape = scores.shape();
  if (boxShape.size() != 3 || scoreShape.size() != 3 || boxShape[2] != 4 ||
      boxShape[0] != scoreShape[0] || boxShape[1] != scoreShape[2])
    c.fail(ErrorKind::ShapeMismatch, "expected boxes of B x N x 4 and scores of B x C x N, got " +
                                         describe(c.input(0)) + " and " + describe(c.input(1)));
  Limits limits;
  limits.boxes = c.has(2) ? std::max<int64_t>(c.integer(2), 0) : 0;
  limits.overlap = optionalNumber(c, 3).value_or(0);
  limits.score = optionalNumber(c, 4);
  bool isCentered = c.node.getInt("center_point_box", 0) != 0;
  int64_t batches = scoreShape[0], classes = scoreShape[1], count = scoreShape[2];
  std::vector<Box> corners;
  corners.reserve(batches * count);
  for (int64_t i = 0; i < batches * count; ++i)
    corners.push_back(cornersOf(std::as_const(boxes).as<float>() + 4 * i, isCentered));
  std::vector<std::vector<int64_t>> chosen(batches * classes);
  constexpr int64_t scoresOfThread = 1024; // take longer than sharing the loop
  ThreadPool::global().parallelFor(
      batches * classes, scoresOfThread / std::max<int64_t>(count, 1) + 1,
      [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i)
          chosen[i] = staying(std::span(corners).subspan(i / classes * count, count),
                              std::as_const(scores).as<float>() + i * count, limits);
      });
  std::vector<int64_t> selected; // batch, class, box
  for (int64_t i = 0; i < batches * classes; ++i)
    for (int64_t box : chosen[i])
      selected.insert(selected.end(), {i / classes, i % classes, box});
  return {tensorOf(selected).reshaped({static_cast<int64_t>(selected.size()) / 3, 3})};
}

HostFamily suppressionOperators() {
  static const HostOperator table[] = {{"", "NonMaxSuppression", 10, nonMaxSuppression}};
  return table;
}

} // namespace headrace::operators
