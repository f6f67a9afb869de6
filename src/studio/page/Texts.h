// Functions that CMake writes, one for each file of the page.
#pragma once

#include <string_view>

namespace headrace::studio::texts {

std::string_view index_html();
std::string_view studio_css();
std::string_view base_js();
std::string_view place_js();
std::string_view draw_js();
std::string_view minimap_js();
std::string_view graph_js();
std::string_view search_js();
std::string_view inspector_js();
std::string_view steps_js();
std::string_view machine_js();
std::string_view trace_js();
std::string_view gradient_js();
std::string_view main_js();

} // namespace headrace::studio::texts
