#include "studio/server/ViewJson.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace headrace::studio {

using json = nlohmann::ordered_json;

namespace {

json frameJson(const Frame &frame) {
  json items = json::array(), places = json::array(), links = json::array();
  for (const Frame::Item &item : frame.items)
    items.push_back({item.node, item.frame});
  for (const RowPlace &place : frame.layout.places)
    places.push_back({place.item, place.row, std::round(place.x)});
  for (size_t l = 0; l < frame.links.size(); ++l) {
    const Frame::Link &link = frame.links[l];
    links.push_back({link.from, link.to, link.bytes, frame.layout.routes[l], link.edges});
  }
  return {{"name", frame.name},     {"parent", frame.parent},    {"kernel", frame.kernel},
          {"blocks", frame.blocks}, {"nodes", frame.nodes},      {"items", items},
          {"places", places},       {"rows", frame.layout.rows}, {"links", links},
          {"enters", frame.enters}, {"leaves", frame.leaves}};
}

} // namespace

json viewOf(const json &document, const ProgramLayout &layout) {
  json view = {{"model", document["model"]},
               {"phase", document["phase"]},
               {"symbols", document["symbols"]},
               {"nodes", document["nodes"]}};
  std::unordered_map<std::string, size_t> numbers;
  for (const json &node : document["nodes"])
    numbers.emplace(node["id"].get<std::string>(), numbers.size());
  json edges = json::array(), frames = json::array();
  for (const json &edge : document["edges"])
    edges.push_back({numbers.at(edge["from"].get<std::string>()),
                     numbers.at(edge["to"].get<std::string>()), edge["type"], edge["shape"],
                     edge["bytes"]});
  for (const Frame &frame : layout.frames)
    frames.push_back(frameJson(frame));
  view["edges"] = std::move(edges);
  view["frames"] = std::move(frames);
  return view;
}

std::string inertText(const json &document) {
  std::string text = document.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  std::string inert;
  inert.reserve(text.size());
  for (char c : text)
    if (c == '<')
      inert += "\\u003c";
    else
      inert += c;
  return inert;
}

} // namespace headrace::studio
