#include "tune/learn/Booster.h"

#include "runtime/system/Error.h"

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>

namespace headrace::tune {

/// The functions of XGBoost that are used, as its header c_api.h declares them.
class BoosterLibrary {
public:
  using Handle = void *;
  int (*createMatrix)(const float *, uint64_t, uint64_t, float, Handle *) = nullptr;
  int (*freeMatrix)(Handle) = nullptr;
  int (*setFloats)(Handle, const char *, const float *, uint64_t) = nullptr;
  int (*setUnsigned)(Handle, const char *, const unsigned *, uint64_t) = nullptr;
  int (*createBooster)(const Handle *, uint64_t, Handle *) = nullptr;
  int (*freeBooster)(Handle) = nullptr;
  int (*setParameter)(Handle, const char *, const char *) = nullptr;
  int (*update)(Handle, int, Handle) = nullptr;
  int (*predict)(Handle, Handle, const char *, const uint64_t **, uint64_t *,
                 const float **) = nullptr;
  const char *(*lastError)() = nullptr;
  void (*version)(int *, int *, int *) = nullptr;
  std::string path, fault;

  static const BoosterLibrary &get() {
    static const BoosterLibrary library;
    return library;
  }

  void require(int result) const {
    if (result != 0)
      throw Error(ErrorKind::Unsupported, std::string("XGBoost: ") + lastError());
  }

private:
  BoosterLibrary() {
    // What a user names comes first; wheels of Python have no version in the name.
    std::vector<std::string> names;
    if (const char *given = std::getenv("HEADRACE_XGBOOST"))
      names.emplace_back(given);
    else
      names = {"libxgboost.so", "libxgboost.so.1", "libxgboost.so.0"};
    for (const std::string &name : names)
      if (void *library = name.empty() ? nullptr : ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        path = name;
        load(library);
        return;
      }
    fault = "XGBoost was not found (Debian: libxgboost-dev; or HEADRACE_XGBOOST, the path of "
            "libxgboost.so, which the Python package xgboost-cpu has)";
  }

  template <class Function> void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function && fault.empty())
      fault = path + ": expected the function " + name + " of XGBoost";
  }

  void load(void *library) {
    find(library, "XGDMatrixCreateFromMat", createMatrix);
    find(library, "XGDMatrixFree", freeMatrix);
    find(library, "XGDMatrixSetFloatInfo", setFloats);
    find(library, "XGDMatrixSetUIntInfo", setUnsigned);
    find(library, "XGBoosterCreate", createBooster);
    find(library, "XGBoosterFree", freeBooster);
    find(library, "XGBoosterSetParam", setParameter);
    find(library, "XGBoosterUpdateOneIter", update);
    find(library, "XGBoosterPredictFromDMatrix", predict);
    find(library, "XGBGetLastError", lastError);
    find(library, "XGBoostVersion", version);
  }
};

namespace {

class Matrix {
public:
  explicit Matrix(const Rows &rows) {
    library.require(library.createMatrix(rows.values.data(), rows.count(), rows.columns,
                                         std::numeric_limits<float>::quiet_NaN(), &handle));
  }
  ~Matrix() { library.freeMatrix(handle); }
  Matrix(const Matrix &) = delete;

  const BoosterLibrary &library = BoosterLibrary::get();
  void *handle = nullptr;
};

} // namespace

const std::string &Booster::unsupportedReason() { return BoosterLibrary::get().fault; }

std::string Booster::library() {
  const BoosterLibrary &library = BoosterLibrary::get();
  int major = 0, minor = 0, patch = 0;
  library.version(&major, &minor, &patch);
  return "XGBoost " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch) + ", " + library.path;
}

Booster::Booster(const Rows &rows, const std::vector<float> &labels,
                 const std::vector<unsigned> &groups, uint64_t seed) {
  const BoosterLibrary &library = BoosterLibrary::get();
  if (!library.fault.empty())
    throw Error(ErrorKind::Unsupported, library.fault);
  Matrix matrix(rows);
  library.require(library.setFloats(matrix.handle, "label", labels.data(), labels.size()));
  library.require(library.setUnsigned(matrix.handle, "group", groups.data(), groups.size()));
  library.require(library.createBooster(&matrix.handle, 1, &handle));
  // One thread: equal rows give equal trees, and candidates are not timed meanwhile.
  const std::pair<const char *, std::string> parameters[] = {
      {"objective", "rank:pairwise"}, {"eta", "0.2"},     {"max_depth", "5"},
      {"min_child_weight", "1"},      {"gamma", "0.001"}, {"nthread", "1"},
      {"tree_method", "exact"},       {"verbosity", "0"}, {"seed", std::to_string(seed % 1000003)}};
  for (const auto &[name, value] : parameters)
    library.require(library.setParameter(handle, name, value.c_str()));
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round)
    library.require(library.update(handle, round, matrix.handle));
}

Booster::~Booster() {
  if (handle)
    BoosterLibrary::get().freeBooster(handle);
}

std::vector<float> Booster::scores(const Rows &rows) const {
  if (rows.count() == 0)
    return {};
  const BoosterLibrary &library = BoosterLibrary::get();
  Matrix matrix(rows);
  const uint64_t *shape = nullptr;
  uint64_t dimensions = 0;
  const float *found = nullptr;
  library.require(library.predict(handle, matrix.handle,
                                  R"({"type":0,"training":false,"iteration_begin":0,)"
                                  R"("iteration_end":0,"strict_shape":false})",
                                  &shape, &dimensions, &found));
  return {found, found + rows.count()};
}

} // namespace headrace::tune
