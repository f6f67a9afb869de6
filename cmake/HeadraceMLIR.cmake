# Finds the distribution's MLIR 19 and defines how compiler components are built:
# one precompiled header for all of them, linked against libMLIR and libLLVM.
find_package(MLIR 19.1 REQUIRED CONFIG
             HINTS /usr/lib/llvm-19/lib/cmake/mlir)
# The linker of packages.
find_package(LLD 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${llvm_definitions})
# libMLIR lies beside LLVM 19's other libraries, off the loader's path.
set(CMAKE_BUILD_RPATH ${LLVM_LIBRARY_DIR})
set(CMAKE_INSTALL_RPATH ${LLVM_LIBRARY_DIR})
include(HeadraceStaticLLVM)

headrace_add_precompiled_header(headrace_pch ${CMAKE_SOURCE_DIR}/src/dialect/Pch.h)
set(headrace_pch headrace_pch) # that of the folder at hand: tests have another

# headrace_add_library(NAME SOURCES a.cpp ... LINK lib ... )
function(headrace_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  headrace_precompile(${name} headrace_pch)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} headrace_mlir)
endfunction()

# headrace_add_executable(NAME SOURCES a.cpp ... LINK lib ...): likewise, for tools and tests.
function(headrace_add_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  headrace_precompile(${name} ${headrace_pch} ${headrace_pch_options})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()
