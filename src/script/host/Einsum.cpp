// einsum("ij,jk->ik", A, B): products and sums by the labels of dimensions.
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace headrace::script {

namespace {

using Labels = std::string;
using Extents = std::map<char, int64_t>;

/// Cells in row-major order of their labels.
struct Labelled {
  Labels labels;
  std::vector<double> cells;
};

bool contains(const Labels &labels, char label) { return labels.find(label) != Labels::npos; }

Labels filtered(const Labels &labels, auto keep) {
  Labels result;
  std::ranges::copy_if(labels, std::back_inserter(result), keep);
  return result;
}

int64_t cellsOf(const Labels &labels, const Extents &extents) {
  return std::accumulate(labels.begin(), labels.end(), int64_t(1),
                         [&](int64_t count, char label) { return count * extents.at(label); });
}

/// The operand with these labels in their order: equal ones of the operand are its diagonal, labels
/// that are left out are summed over.
Labelled arranged(const Labelled &x, const Labels &labels, const Extents &extents) {
  Labels loops = labels;
  for (char label : x.labels)
    if (!contains(loops, label))
      loops += label;
  // How far one step of a loop moves in the operand and in the result.
  std::vector<int64_t> size, from, to;
  for (size_t i = 0; i < loops.size(); ++i) {
    size.push_back(extents.at(loops[i]));
    from.push_back(0);
    int64_t stride = 1;
    for (size_t j = x.labels.size(); j-- > 0; stride *= extents.at(x.labels[j]))
      from[i] += x.labels[j] == loops[i] ? stride : 0;
    to.push_back(i < labels.size() ? cellsOf(labels.substr(i + 1), extents) : 0);
  }
  Labelled result{labels, std::vector<double>(cellsOf(labels, extents))};
  std::vector<int64_t> index(loops.size());
  int64_t count = cellsOf(loops, extents), source = 0, target = 0;
  for (int64_t point = 0; point < count; ++point) {
    result.cells[target] += x.cells[source];
    for (size_t i = loops.size(); i-- > 0;) {
      source += from[i];
      target += to[i];
      if (++index[i] < size[i])
        break;
      source -= from[i] * size[i];
      target -= to[i] * size[i];
      index[i] = 0;
    }
  }
  return result;
}

Tensor matrixOf(std::span<const double> cells, int64_t rows, int64_t cols) {
  Tensor matrix = newMatrix(rows, cols);
  std::ranges::copy(cells, matrix.as<double>());
  return matrix;
}

/// Two operands as one, with the labels that `needed` contains: a matmul for every point of the
/// labels that both have and that are kept.
Labelled contracted(const Labelled &a, const Labelled &b, const Labels &needed,
                    const Extents &extents) {
  auto both = [&](char label) { return contains(a.labels, label) && contains(b.labels, label); };
  auto kept = [&](char label) { return contains(needed, label); };
  Labels batch = filtered(a.labels, [&](char l) { return both(l) && kept(l); });
  Labels inner = filtered(a.labels, [&](char l) { return both(l) && !kept(l); });
  Labels left = filtered(a.labels, [&](char l) { return !both(l) && kept(l); });
  Labels right = filtered(b.labels, [&](char l) { return !both(l) && kept(l); });
  Labelled x = arranged(a, batch + left + inner, extents);
  Labelled y = arranged(b, batch + inner + right, extents);
  int64_t rows = cellsOf(left, extents), cols = cellsOf(right, extents);
  int64_t sums = cellsOf(inner, extents), count = cellsOf(batch, extents);
  Labelled result{batch + left + right, std::vector<double>(count * rows * cols)};
  for (int64_t i = 0; i < count; ++i) {
    Tensor l = matrixOf(std::span(x.cells).subspan(i * rows * sums, rows * sums), rows, sums);
    Tensor r = matrixOf(std::span(y.cells).subspan(i * sums * cols, sums * cols), sums, cols);
    Tensor part = denseOf(product(l, false, r, false));
    std::copy_n(part.as<double>(), rows * cols, result.cells.begin() + i * rows * cols);
  }
  return result;
}

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

Equation equationOf(const HostCall &call, const std::string &text) {
  Equation equation;
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (size_t at = 0; at <= left.size();) {
    size_t end = std::min(left.find(',', at), left.size());
    equation.operands.push_back(left.substr(at, end - at));
    at = end + 1;
  }
  if (arrow != std::string::npos)
    equation.result = text.substr(arrow + 2);
  auto areLetters = [](const Labels &labels) {
    return std::ranges::all_of(labels, [](unsigned char c) { return std::isalpha(c); });
  };
  bool valid = arrow != std::string::npos && equation.result.size() <= 2 &&
               areLetters(equation.result) && std::ranges::all_of(equation.operands, areLetters);
  for (const Labels &labels : equation.operands)
    valid &= labels.size() == 1 || labels.size() == 2;
  for (size_t i = 0; i < equation.result.size(); ++i) {
    auto has = [&](const Labels &labels) { return contains(labels, equation.result[i]); };
    valid &= std::ranges::any_of(equation.operands, has);
    valid &= equation.result.find(equation.result[i]) == i;
  }
  if (!valid || equation.operands.size() + 1 != call.arguments.size())
    call.fail("expected an equation such as \"ij,jk->ik\" with one or two letters for each of " +
              std::to_string(call.arguments.size() - 1) + " matrices, got \"" + text + "\"");
  return equation;
}

/// A matrix, a column for one label, a number for none.
Value einsum(HostCall &call) {
  std::string text = call.text(0, "");
  std::erase(text, ' ');
  Equation equation = equationOf(call, text);
  Extents extents;
  std::vector<Labelled> parts;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    const Labels &labels = equation.operands[i];
    Tensor x = call.dense(i + 1);
    if (labels.size() == 1 && x.shape()[1] != 1)
      call.fail("expected a column for \"" + labels + "\", got " + describe(call.arguments[i + 1]),
                ErrorKind::ShapeMismatch);
    for (size_t d = 0; d < labels.size(); ++d)
      if (auto [entry, isNew] = extents.emplace(labels[d], x.shape()[d]);
          entry->second != x.shape()[d])
        call.fail("expected " + std::to_string(entry->second) + " for dimension '" + labels[d] +
                      "' of " + describe(call.arguments[i + 1]),
                  ErrorKind::ShapeMismatch);
    parts.push_back({labels, {x.as<double>(), x.as<double>() + x.elements()}});
  }
  while (parts.size() > 1) {
    // The pair with the smallest result; of equal ones the first.
    auto needed = [&](size_t a, size_t b) {
      Labels labels = equation.result;
      for (size_t i = 0; i < parts.size(); ++i)
        if (i != a && i != b)
          labels += parts[i].labels;
      return labels;
    };
    size_t first = 0, second = 1;
    double least = -1;
    for (size_t a = 0; a < parts.size(); ++a)
      for (size_t b = a + 1; b < parts.size(); ++b) {
        Labels kept = needed(a, b), all = parts[a].labels;
        all += filtered(parts[b].labels, [&](char l) { return !contains(parts[a].labels, l); });
        auto cells = static_cast<double>(
            cellsOf(filtered(all, [&](char l) { return contains(kept, l); }), extents));
        if (least < 0 || cells < least)
          std::tie(first, second, least) = std::tuple(a, b, cells);
      }
    Labelled joined = contracted(parts[first], parts[second], needed(first, second), extents);
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(second));
    parts[first] = std::move(joined);
  }
  Labelled result = arranged(parts[0], equation.result, extents);
  if (equation.result.empty())
    return result.cells[0];
  return matrixOf(result.cells, extents.at(equation.result[0]),
                  equation.result.size() == 2 ? extents.at(equation.result[1]) : 1);
}

} // namespace

const HostTable &labelledProducts() {
  static const HostTable table = {{"einsum", einsum}};
  return table;
}

} // namespace headrace::script
