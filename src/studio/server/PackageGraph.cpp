#include "studio/server/PackageGraph.h"

#include <nlohmann/json.hpp>

namespace headrace::studio {

using json = nlohmann::ordered_json;

namespace {

json endOfProgram(const json &buffer, const std::string &kind) {
  bool isInput = kind == "input";
  return {{"id", kind + ":" + buffer.at("name").get<std::string>()},
          {"kind", kind},
          {"operators", json::array()},
          {"inside", nullptr},
          {"bytes_read", isInput ? json(0) : buffer.at("bytes")},
          {"bytes_written", 0},
          {"operations", 0},
          {"predicted_us", nullptr},
          {"recipe", ""},
          {"alternatives", json::array()}};
}

json kernelNode(const json &kernel) {
  return {{"id", kernel.at("name")},
          {"kind", "kernel"},
          {"operators", kernel.at("operators")},
          {"inside", nullptr},
          {"bytes_read", kernel.at("bytes_read")},
          {"bytes_written", kernel.at("bytes_written")},
          {"operations", kernel.at("operations")},
          {"predicted_us", kernel.at("predicted_us")},
          {"recipe", kernel.at("recipe")},
          {"alternatives", json::array()}};
}

} // namespace

json graphOfKernels(const json &report) {
  const json &kernels = report.at("kernels");
  json inputs = json::array(), outputs = json::array(), nodes = json::array(),
       edges = json::array();
  auto connect = [&](const json &from, const json &to, const json &bytes) {
    edges.push_back(
        {{"from", from}, {"to", to}, {"type", ""}, {"shape", json::array()}, {"bytes", bytes}});
  };
  auto name = [&](const json &step) { return kernels.at(step.get<size_t>()).at("name"); };
  for (const json &buffer : report.at("buffers")) {
    const json &first = buffer.at("first"), &last = buffer.at("last"), &bytes = buffer.at("bytes");
    if (last.get<int64_t>() < 0 || last.get<size_t>() >= kernels.size()) // no kernel touches it
      continue;
    const std::string kind = buffer.at("kind");
    if (kind == "input") {
      inputs.push_back(endOfProgram(buffer, kind));
      connect(inputs.back()["id"], name(last), bytes);
    } else if (kind == "output") {
      outputs.push_back(endOfProgram(buffer, kind));
      connect(name(first), outputs.back()["id"], bytes);
    } else if (first != last) {
      connect(name(first), name(last), bytes);
    }
  }
  for (const json &input : inputs)
    nodes.push_back(input);
  for (const json &kernel : kernels)
    nodes.push_back(kernelNode(kernel));
  for (const json &output : outputs)
    nodes.push_back(output);
  return {{"model", report.at("model")},
          {"phase", "schedule"},
          {"symbols", report.at("symbols")},
          {"nodes", std::move(nodes)},
          {"edges", std::move(edges)}};
}

} // namespace headrace::studio
