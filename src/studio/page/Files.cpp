#include "studio/page/Files.h"

#include "studio/page/Texts.h"
#include <algorithm>
#include <array>

namespace headrace::studio {

std::span<const PageFile> pageFiles() {
  constexpr std::string_view script = "text/javascript; charset=utf-8";
  static const std::array files = {
      PageFile{"index.html", "text/html; charset=utf-8", texts::index_html},
      PageFile{"studio.css", "text/css; charset=utf-8", texts::studio_css},
      PageFile{"base.js", script, texts::base_js},
      PageFile{"place.js", script, texts::place_js},
      PageFile{"draw.js", script, texts::draw_js},
      PageFile{"minimap.js", script, texts::minimap_js},
      PageFile{"graph.js", script, texts::graph_js},
      PageFile{"search.js", script, texts::search_js},
      PageFile{"inspector.js", script, texts::inspector_js},
      PageFile{"steps.js", script, texts::steps_js},
      PageFile{"machine.js", script, texts::machine_js},
      PageFile{"trace.js", script, texts::trace_js},
      PageFile{"gradient.js", script, texts::gradient_js},
      PageFile{"main.js", script, texts::main_js}};
  return files;
}

const PageFile *findPageFile(std::string_view name) {
  auto files = pageFiles();
  auto found = std::ranges::find(files, name, &PageFile::name);
  return found == files.end() ? nullptr : &*found;
}

} // namespace headrace::studio
