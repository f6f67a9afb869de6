// Functions that call other functions of the script by name: eval, evalList, paramserv.
#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <array>

namespace headrace::script {

namespace {

using Entries = HostContext::Entries;

/// Calls the function that the first argument names with the others.
Entries called(HostCall &call) {
  Entries arguments;
  for (size_t i = 1; i < call.arguments.size(); ++i)
    arguments.emplace_back(call.node.argumentNames[i], std::move(call.arguments[i]));
  if (!call.context.call)
    call.fail("functions cannot be called by name here", ErrorKind::Unsupported);
  return call.context.call(call.arguments[0].text(call.name()), std::move(arguments));
}

/// eval("f", ...): the first result; a number is a matrix of one cell.
Value eval(HostCall &call) {
  Value result = called(call).front().second;
  return result.isNumber() ? filled(result.number("eval"), 1, 1) : result;
}

/// evalList("f", ...): all results
Value evalList(HostCall &call) { return std::make_shared<const List>(List{called(call)}); }

// --- paramserv ---------------------------------------------------------------------------------

std::shared_ptr<const List> listOf(const Value &value, const char *what) {
  value.list(what); // rejects other values
  return *value.as<std::shared_ptr<const List>>();
}

/// Training by batches as `paramserv` describes it, with its workers one after the other.
class Training {
public:
  explicit Training(HostCall &call)
      : call(call), update(required("upd")), aggregate(required("agg")),
        batchSize(whole("batchsize", 64)), model(listOf(argument("model"), "model")) {
    std::string frequency = call.text(call.parameter("freq"), "EPOCH");
    perEpoch = frequency == "EPOCH";
    if (!perEpoch && frequency != "BATCH")
      call.fail("expected the frequency \"EPOCH\" or \"BATCH\", got \"" + frequency + "\"");
    if (call.given(call.parameter("modelAvg")) && call.truth(call.parameter("modelAvg"), false))
      call.fail("'modelAvg' is understood but not executed yet", ErrorKind::Unsupported);
  }

  Value run() {
    const Matrix &features = argument("features").expectMatrix("features");
    const Matrix &labels = argument("labels").expectMatrix("labels");
    int64_t rows = rowsOf(features), workers = std::max<int64_t>(1, whole("k", 1));
    if (rowsOf(labels) != rows)
      call.fail("expected as many labels as features, got " + std::to_string(rowsOf(labels)) +
                    " and " + std::to_string(rows),
                ErrorKind::ShapeMismatch);
    int64_t share = (rows + workers - 1) / workers;
    for (int64_t epoch = 0, epochs = whole("epochs", 1); epoch < epochs; ++epoch)
      runEpoch(features, labels, share);
    return model;
  }

private:
  const Value &argument(const char *name) const { return call.arguments[call.parameter(name)]; }
  int64_t whole(const char *name, int64_t otherwise) const {
    return call.whole(call.parameter(name), otherwise);
  }
  std::string required(const char *name) const {
    if (!call.given(call.parameter(name)))
      call.fail("expected the argument '" + std::string(name) + "'");
    return argument(name).text(name);
  }

  void runEpoch(const Matrix &features, const Matrix &labels, int64_t share) {
    int64_t rows = rowsOf(features), batches = (share + batchSize - 1) / batchSize;
    std::vector<Value> gradients;
    for (int64_t batch = 0; batch < (perEpoch ? 1 : batches); ++batch) {
      gradients.clear();
      for (int64_t begin = 0; begin < rows; begin += share) {
        int64_t end = std::min(begin + share, rows);
        if (perEpoch)
          gradients.push_back(gradientsOfEpoch(features, labels, begin, end));
        else if (begin + batch * batchSize < end)
          gradients.push_back(gradientsOf(features, labels, begin + batch * batchSize,
                                          std::min(begin + (batch + 1) * batchSize, end), model));
      }
      for (const Value &gradient : gradients)
        model = updated(model, gradient);
    }
  }

  /// The sum of the batches' gradients, each batch with a model that has seen those before it.
  Value gradientsOfEpoch(const Matrix &features, const Matrix &labels, int64_t begin, int64_t end) {
    std::shared_ptr<const List> local = model;
    Value sum;
    for (; begin < end; begin += batchSize) {
      Value gradient =
          gradientsOf(features, labels, begin, std::min(begin + batchSize, end), local);
      sum = sum.empty() ? gradient : added(sum, gradient);
      if (begin + batchSize < end)
        local = updated(local, gradient);
    }
    return sum;
  }

  Value gradientsOf(const Matrix &features, const Matrix &labels, int64_t begin, int64_t end,
                    const std::shared_ptr<const List> &with) {
    Entries arguments{{"model", with},
                      {"features", rowsBetween(features, begin, end)},
                      {"labels", rowsBetween(labels, begin, end)}};
    return call.context.call(update, withParameters(std::move(arguments))).front().second;
  }

  std::shared_ptr<const List> updated(const std::shared_ptr<const List> &from,
                                      const Value &gradient) {
    Entries arguments{{"model", from}, {"gradients", gradient}};
    return listOf(call.context.call(aggregate, withParameters(std::move(arguments))).front().second,
                  "the result of 'agg'");
  }

  Entries withParameters(Entries arguments) const {
    if (call.given(call.parameter("hyperparams")))
      arguments.emplace_back("hyperparams", argument("hyperparams"));
    return arguments;
  }

  static Value added(const Value &a, const Value &b) {
    List sum = a.list("gradients");
    const List &others = b.list("gradients");
    for (size_t i = 0; i < sum.entries.size(); ++i) {
      std::array operands{sum.entries[i].second, others.entries.at(i).second};
      sum.entries[i].second = applyCells(CellFunction::Add, operands);
    }
    return std::make_shared<const List>(std::move(sum));
  }

  HostCall &call;
  std::string update, aggregate;
  int64_t batchSize;
  bool perEpoch;
  std::shared_ptr<const List> model;
};

Value paramserv(HostCall &call) {
  if (!call.context.call)
    call.fail("functions cannot be called by name here", ErrorKind::Unsupported);
  return Training(call).run();
}

} // namespace

const HostTable &dynamicFunctions() {
  static const HostTable table = {{"eval", eval}, {"evalList", evalList}, {"paramserv", paramserv}};
  return table;
}

} // namespace headrace::script
