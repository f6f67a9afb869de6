#include "Measure.h"

#include "Points.h"
#include <future>
#include <thread>

namespace headrace::accuracy {
namespace {

template <class Exact> void merge(Worst &total, const Search<Exact> &part) {
  if (part.worst.units > total.units)
    total = part.worst;
}

/// The numbers of a tensor, exactly, in the type that results are compared in.
template <class Exact> const auto *numbersOf(const Tensor &tensor, Tensor &copy) {
  using Element = std::conditional_t<std::is_same_v<Exact, double>, float, double>;
  copy = tensor.converted(std::is_same_v<Exact, double> ? DType::F32 : DType::F64);
  return copy.as<Element>();
}

template <class Exact>
Worst measureIn(Exact (*exact)(Exact), DType type, Smallest least, const Evaluate &evaluate) {
  Worst worst;
  visitPoints(type, [&](const Tensor &points) {
    Tensor results = evaluate({points}), xCopy, yCopy;
    const auto *x = numbersOf<Exact>(points, xCopy), *y = numbersOf<Exact>(results, yCopy);
    int64_t count = points.elements(), threads = std::thread::hardware_concurrency();
    std::vector<std::future<Search<Exact>>> parts;
    for (int64_t t = 0; t < threads; ++t)
      parts.push_back(std::async(std::launch::async, [=] {
        Search<Exact> search(type, least);
        for (int64_t i = count * t / threads; i < count * (t + 1) / threads; ++i)
          search.add(y[i], exact(x[i]), x[i]);
        return search;
      }));
    for (auto &part : parts)
      merge(worst, part.get());
  });
  return worst;
}

template <class Exact>
Worst measurePairsIn(Exact (*exact)(Exact, Exact), DType type, const Evaluate &evaluate) {
  Search<Exact> search(type, Smallest::Any);
  visitPairs(type, [&](const Tensor &a, const Tensor &b) {
    Tensor results = evaluate({a, b}), aCopy, bCopy, yCopy;
    const auto *x = numbersOf<Exact>(a, aCopy), *y = numbersOf<Exact>(b, bCopy);
    const auto *got = numbersOf<Exact>(results, yCopy);
    for (int64_t i = 0; i < a.elements(); ++i)
      search.add(got[i], exact(x[i], y[i]), x[i], y[i]);
  });
  return search.worst;
}

} // namespace

Worst measure(const Function &function, DType type, const Evaluate &evaluate) {
  return type == DType::F64 ? measureIn(function.of64, type, function.smallest, evaluate)
                            : measureIn(function.of32, type, function.smallest, evaluate);
}

Worst measure(const Function2 &function, DType type, const Evaluate &evaluate) {
  return type == DType::F64 ? measurePairsIn(function.of64, type, evaluate)
                            : measurePairsIn(function.of32, type, evaluate);
}

} // namespace headrace::accuracy
