// Medians and quantiles, of columns of numbers that may have weights.
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

namespace {

struct Weighted {
  double value;
  double weight;
};

/// The numbers of a column, each with how often it counts; those that never do left out. NaN is
/// behind all others. One quantile of numbers without weights is selected rather than sorted for.
class Distribution {
public:
  Distribution(const HostCall &call, const Value *weights) : weighted(weights) {
    Tensor x = column(call, call.arguments[0]);
    Tensor counts = weights ? column(call, *weights) : Tensor();
    if (counts && counts.elements() != x.elements())
      call.fail("expected one weight per number, got " + std::to_string(counts.elements()) +
                    " for " + std::to_string(x.elements()),
                ErrorKind::ShapeMismatch);
    numbers.reserve(x.elements());
    for (int64_t i = 0; i < x.elements(); ++i) {
      double weight = counts ? counts.as<double>()[i] : 1;
      if (!(weight >= 0 && weight == std::floor(weight)))
        call.fail("expected weights that are integers of 0 or more, got " + numberText(weight));
      if (weight > 0)
        numbers.push_back({x.as<double>()[i], weight});
      nonzeros += x.as<double>()[i] != 0;
      total += weight;
    }
    if (numbers.empty())
      call.fail("expected at least one number");
    auto isNumber = [](const Weighted &number) { return !std::isnan(number.value); };
    endOfNumbers = std::partition(numbers.begin(), numbers.end(), isNumber);
    if (weighted)
      sort();
  }

  void sort() {
    if (!sorted)
      std::sort(numbers.begin(), endOfNumbers, isLess);
    sorted = true;
  }

  /// The least number with a share p of all weights at or below it. `between`: if the weights
  /// are even in number and the share ends between two numbers, the middle of both; as in SystemDS
  /// only up to as many weights as there are numbers other than 0.
  double at(const HostCall &call, double share, bool between) {
    if (!(share >= 0 && share <= 1))
      call.fail("expected a share between 0 and 1, got " + numberText(share));
    double position = std::max(std::ceil(share * total), 0.0), sum = 0;
    size_t i = 0;
    if (weighted) {
      while (i + 1 < numbers.size() && sum + numbers[i].weight < position)
        sum += numbers[i++].weight;
    } else {
      i = static_cast<size_t>(std::clamp(position - 1, 0.0, total - 1));
      sum = static_cast<double>(i);
    }
    bool ends = position > 0 && position < nonzeros && sum + numbers[i].weight == position;
    double number = inOrder(i);
    if (!between || std::fmod(total, 2) != 0 || !ends || i + 1 == numbers.size())
      return number;
    return (number + inOrder(i + 1)) / 2;
  }

  /// The mean of what is between the first and the last quarter, numbers on the boundary in part.
  double interQuartileMean() {
    sort();
    double from = 0.25 * total, to = 0.75 * total, before = 0, sum = 0;
    for (const Weighted &number : numbers) {
      double inside = std::min(before + number.weight, to) - std::max(before, from);
      if (inside > 0)
        sum += inside * number.value;
      before += number.weight;
    }
    return sum / (0.5 * total);
  }

private:
  static bool isLess(const Weighted &a, const Weighted &b) { return a.value < b.value; }

  /// The number at this position in the order of all.
  double inOrder(size_t i) {
    auto at = numbers.begin() + static_cast<ptrdiff_t>(i);
    if (!sorted && at < endOfNumbers)
      std::nth_element(numbers.begin(), at, endOfNumbers, isLess);
    return at->value;
  }

  static Tensor column(const HostCall &call, const Value &value) {
    Tensor x = value.dense(call.name());
    if (x.shape()[1] != 1)
      call.fail("expected a column, got " + describe(value), ErrorKind::ShapeMismatch);
    return x;
  }

  std::vector<Weighted> numbers;
  std::vector<Weighted>::iterator endOfNumbers; // what is behind is NaN
  bool weighted, sorted = false;
  double total = 0, nonzeros = 0;
};

/// median(x, weights)
Value median(HostCall &call) {
  return Distribution(call, call.given(1) ? &call.arguments[1] : nullptr).at(call, 0.5, true);
}

/// quantile(x, p), quantile(x, weights, p): p a number or a column
Value quantile(HostCall &call) {
  bool weighted = call.given(2);
  Distribution distribution(call, weighted ? &call.arguments[1] : nullptr);
  const Value &share = call.arguments[weighted ? 2 : 1];
  if (!share.matrix())
    return distribution.at(call, share.number("quantile"), true);
  Tensor shares = share.dense("quantile");
  if (shares.shape()[1] != 1)
    call.fail("expected a column of shares, got " + describe(share), ErrorKind::ShapeMismatch);
  distribution.sort();
  Tensor result = newMatrix(shares.elements(), 1);
  std::transform(shares.as<double>(), shares.as<double>() + shares.elements(), result.as<double>(),
                 [&](double p) { return distribution.at(call, p, false); });
  return result;
}

Value interQuartileMean(HostCall &call) {
  return Distribution(call, call.given(1) ? &call.arguments[1] : nullptr).interQuartileMean();
}

} // namespace

const HostTable &orderStatistics() {
  static const HostTable table = {
      {"median", median}, {"quantile", quantile}, {"interQuartileMean", interQuartileMean}};
  return table;
}

} // namespace headrace::script
