#include "runtime/library/OpenBlas.h"

#include <cstdlib>
#include <dlfcn.h>
#include <optional>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADRACE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEADRACE_SANITIZED 1
#endif
#endif

namespace headrace {

namespace {

/// A CPU newer than the library is taken for one of 2004, whose code is several times slower
/// than what OpenBLAS has for AVX2 and AVX-512.
bool takesProcessorForOld(void *library) {
#if defined(__x86_64__)
  auto name = reinterpret_cast<const char *(*)()>(::dlsym(library, "openblas_get_corename"));
  return name && std::string_view(name()) == "Prescott" && !std::getenv("OPENBLAS_CORETYPE") &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

void *loadFile() {
  int flags = RTLD_NOW | RTLD_LOCAL;
#ifndef HEADRACE_SANITIZED
  // The process may hold another BLAS whose names OpenBLAS must not bind to; sanitizers, which
  // replace functions themselves, reject the flag.
  flags |= RTLD_DEEPBIND;
#endif
  const char *chosen = std::getenv("HEADRACE_OPENBLAS");
  if (chosen && *chosen == '\0') // dlopen would give the process itself
    return nullptr;
  const char *file = chosen ? chosen : "libopenblas.so.0";
  void *library = ::dlopen(file, flags); // stays loaded
  if (!library || !takesProcessorForOld(library))
    return library;
#if defined(__x86_64__)
  // It can be told only through the environment, and only before it is loaded.
  ::dlclose(library);
  ::setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512bw") ? "SkylakeX" : "Haswell", 0);
  library = ::dlopen(file, flags);
  ::unsetenv("OPENBLAS_CORETYPE");
#endif
  return library;
}

std::optional<OpenBlas> load() {
  void *library = loadFile();
  if (!library)
    return std::nullopt;
  bool complete = true;
  auto find = [&](auto &function, const char *symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    complete &= function != nullptr;
  };
  OpenBlas found{};
  find(found.f32.gemm, "cblas_sgemm");
  find(found.f32.gemv, "cblas_sgemv");
  find(found.f32.syrk, "cblas_ssyrk");
  find(found.f32.trsm, "cblas_strsm");
  find(found.f64.gemm, "cblas_dgemm");
  find(found.f64.gemv, "cblas_dgemv");
  find(found.f64.syrk, "cblas_dsyrk");
  find(found.f64.trsm, "cblas_dtrsm");
  find(found.lapack.getrf, "dgetrf_");
  find(found.lapack.getrs, "dgetrs_");
  find(found.lapack.laswp, "dlaswp_");
  find(found.lapack.potrf, "dpotrf_");
  find(found.lapack.potrs, "dpotrs_");
  find(found.lapack.geqrf, "dgeqrf_");
  find(found.lapack.syevd, "dsyevd_");
  find(found.lapack.gesdd, "dgesdd_");
  find(found.complex.getrf, "zgetrf_");
  find(found.complex.getrs, "zgetrs_");
  find(found.complex.potrf, "zpotrf_");
  find(found.complex.potrs, "zpotrs_");
  void (*setThreads)(int) = nullptr;
  find(setThreads, "openblas_set_num_threads");
  if (!complete)
    return std::nullopt;
  setThreads(1);
  return found;
}

} // namespace

const OpenBlas *openBlas() {
  static const std::optional<OpenBlas> library = load();
  return library ? &*library : nullptr;
}

} // namespace headrace
