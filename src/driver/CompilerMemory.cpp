#include "driver/CompilerMemory.h"

#include "runtime/system/AlignedMemory.h"
#include "runtime/system/CodePages.h"

#include <array>
#include <atomic>

namespace headrace {

static void returnCompilerCode() {
  // Linked statically, they are in our own library, whose code goes in any case.
  constexpr std::array<std::string_view, 2> compiler{"libMLIR", "libLLVM"};
  returnCodePages(compiler);
}

void returnCompilerMemory() {
  returnKeptMemory();
  returnCompilerCode();
}

void forgetLoadedCode() {
  static std::atomic_flag
      done; // nobody waits for the one who does it: a fork may have left it behind
  if (!done.test_and_set())
    returnCompilerCode();
}

} // namespace headrace
