# LLVM, MLIR and lld in two forms. Targets link `headrace_mlir` and `headrace_lld`, which are the distribution's shared
# libraries: relinking is instant. A target with the property HEADRACE_STATIC_LLVM gets the archives beside them instead,
# from the same objects, and runs where no LLVM is installed.

# Code generators that a statically linked target holds; lld names those of every processor.
set(static_targets X86 NVPTX)
set(absent_targets ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM absent_targets ${static_targets})

file(GLOB mlir_archives "${LLVM_LIBRARY_DIR}/libMLIR*.a")
list(FILTER mlir_archives EXCLUDE REGEX "Test|CAPI")
file(GLOB llvm_archives "${LLVM_LIBRARY_DIR}/libLLVM*.a")
list(JOIN absent_targets "|" absent_pattern)
list(FILTER llvm_archives EXCLUDE REGEX "/libLLVM(${absent_pattern})[A-Z]")

set(absent_initializers "")
foreach(target IN LISTS absent_targets)
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
    string(APPEND absent_initializers "void LLVMInitialize${target}${part}() {}\n")
  endforeach()
endforeach()
configure_file(cmake/StaticLLVM.cpp.in StaticLLVM.cpp @ONLY)
add_library(headrace_static_llvm STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/StaticLLVM.cpp)

find_library(static_zlib libz.a)
find_library(static_zstd libzstd.a)

set(is_static $<BOOL:$<TARGET_PROPERTY:HEADRACE_STATIC_LLVM>>)
add_library(headrace_mlir INTERFACE)
target_link_libraries(headrace_mlir INTERFACE
  "$<IF:${is_static},headrace_static_llvm;${mlir_archives};${llvm_archives};${static_zlib};${static_zstd},MLIR;LLVM>")
add_library(headrace_lld INTERFACE)
target_link_libraries(headrace_lld INTERFACE
  "$<IF:${is_static},${LLVM_LIBRARY_DIR}/liblldELF.a;${LLVM_LIBRARY_DIR}/liblldCommon.a,lldELF;lldCommon>")

# headrace_link_statically(NAME EXPORTED_SYMBOL): all but the C library and the unwinder goes into it, one symbol comes out.
function(headrace_link_statically name symbol)
  set_target_properties(${name} PROPERTIES HEADRACE_STATIC_LLVM ON SKIP_BUILD_RPATH ON INSTALL_RPATH "")
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}.version")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{ global: ${symbol}; local: *; };\n")
  # Unwinding stays with libgcc_s, which every system with glibc has: the static one needs a newer glibc. Functions of
  # equal code are one function (77 MB become 66); neither LLVM nor Headrace compares their addresses.
  target_link_options(${name} PRIVATE -static-libstdc++ -shared-libgcc -s
    LINKER:--gc-sections,--icf=all,--version-script=${script},--threads=2)
endfunction()
