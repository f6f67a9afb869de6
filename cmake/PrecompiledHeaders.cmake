# Headers are read once, not once for each file: half of a small file's compile time goes into the standard library's,
# and two thirds of a test's into GoogleTest's. Compiler components have a header of their own (HeadraceMLIR.cmake).

# Without its time of compilation in it, equal headers make equal objects: ccache finds them after a clean.
set(pch_options -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/Pch.cpp CONTENT "// A precompiled header belongs to a target with a source.\n")

# headrace_add_precompiled_header(NAME HEADER [OPTIONS]): NAME is what targets with the same options reuse.
function(headrace_add_precompiled_header name header)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/Pch.cpp)
  target_precompile_headers(${name} PRIVATE ${header})
  target_compile_options(${name} PRIVATE ${pch_options} ${ARGN})
endfunction()

# headrace_precompile(TARGET PCH [OPTIONS])
function(headrace_precompile target pch)
  get_target_property(type ${target} TYPE)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  target_compile_options(${target} PRIVATE ${pch_options} ${ARGN})
  if(type STREQUAL EXECUTABLE)
    # The precompiled header is position-independent the way of libraries; an executable must agree.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# headrace_targets_without_pch(OUT FOLDER): the C++ targets of ours in FOLDER and below that have no such header yet.
function(headrace_targets_without_pch out folder)
  set(found)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(reused ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    if("${sources}" MATCHES "\\.cpp" AND NOT reused AND NOT own)
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  list(FILTER inner EXCLUDE REGEX "/python$") # nanobind chooses options of its own
  foreach(subfolder IN LISTS inner)
    headrace_targets_without_pch(below ${subfolder})
    list(APPEND found ${below})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# headrace_precompile_programs(FOLDER PCH [OPTIONS]): its executables.
function(headrace_precompile_programs folder pch)
  headrace_targets_without_pch(targets ${folder})
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      headrace_precompile(${target} ${pch} ${ARGN})
    endif()
  endforeach()
endfunction()

# headrace_precompile_rest(FOLDER PCH)
function(headrace_precompile_rest folder pch)
  headrace_targets_without_pch(targets ${folder})
  foreach(target IN LISTS targets)
    headrace_precompile(${target} ${pch})
  endforeach()
endfunction()
