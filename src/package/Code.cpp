// A shared object is loaded from a sealed, nameless file in memory (memfd): nothing is written to
// disk, so there is no directory to find, to clean up or to be raced in, and what was checked is
// what is loaded. Its pages are the process's own; kernels are small next to weights, which are
// shared.
#include "package/Code.h"

#include "runtime/program/RuntimeFunctions.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Json.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_set>

namespace headrace {

namespace {

[[noreturn]] void fail(ErrorKind kind, const std::string &source, const std::string &what) {
  throw Error(kind, source + ": " + what);
}

void checkElf(Bytes object, const std::string &source) {
  Elf64_Ehdr header{};
  if (object.size() >= sizeof header)
    std::memcpy(&header, object.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    fail(ErrorKind::InvalidFile, source, "the package is damaged: its code is not a shared object");
  if (header.e_machine != EM_X86_64)
    fail(ErrorKind::Unsupported, source,
         "expected code for x86-64, got code for machine " + std::to_string(header.e_machine));
}

void writeAll(int descriptor, Bytes data, const std::string &source) {
  while (!data.empty()) {
    ssize_t written = ::write(descriptor, data.data(), data.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      fail(ErrorKind::Io, source, std::string("cannot load its code: ") + std::strerror(errno));
    data = data.subspan(static_cast<size_t>(written));
  }
}

} // namespace

std::shared_ptr<const Code> Code::load(Bytes object, const std::string &source) {
  checkElf(object, source);
  std::shared_ptr<Code> code(new Code);
  code->descriptor = ::memfd_create("headrace-package", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (code->descriptor < 0)
    fail(ErrorKind::Io, source, std::string("cannot load its code: ") + std::strerror(errno));
  writeAll(code->descriptor, object, source);
  ::fcntl(code->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  // The loader knows objects by path: the descriptor stays open so that no other gets its number.
  CompilerSection section; // the loader has locks, and code may do anything when it is loaded
  std::string path = "/proc/self/fd/" + std::to_string(code->descriptor);
  code->handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!code->handle) {
    const char *reason = ::dlerror();
    fail(ErrorKind::InvalidFile, source,
         "cannot load its code: " + std::string(reason ? reason : "unknown reason"));
  }
  auto *table = static_cast<const CodeTable *>(::dlsym(code->handle, codeTableSymbol));
  if (!table)
    fail(ErrorKind::InvalidFile, source, "the package is damaged: its code has no table");
  code->readTable(*table, source);
  return code;
}

std::shared_ptr<const Code> Code::loadImages(Bytes data, std::shared_ptr<const Code> host,
                                             const std::string &source) {
  std::shared_ptr<Code> code(new Code);
  code->hasImages = true;
  code->host = std::move(host);
  try {
    Json json = parseJson({reinterpret_cast<const char *>(data.data()), data.size()}, "its code");
    if (!json.is_array())
      throw JsonFault("its code is not a list of images");
    for (const Json &item : json) {
      DeviceImage image{text(item, "name"), text(item, "text")};
      code->images.emplace(image.name, std::move(image));
    }
  } catch (const JsonFault &fault) {
    fail(ErrorKind::InvalidFile, source, std::string("the package is damaged: ") + fault.what());
  }
  return code;
}

std::shared_ptr<const Code> Code::linked(const CodeTable &table, const std::string &source) {
  std::shared_ptr<Code> code(new Code);
  code->readTable(table, source);
  return code;
}

Code::~Code() {
  if (handle)
    ::dlclose(handle);
  if (descriptor >= 0)
    ::close(descriptor);
}

void Code::readTable(const CodeTable &table, const std::string &source) {
  if (table.abi != codeAbi)
    fail(ErrorKind::Unsupported, source,
         "expected code of interface " + std::to_string(codeAbi) + ", got " +
             std::to_string(table.abi));
  // Linked code has one table for all who open it.
  static ForkSafeMutex mutex;
  std::lock_guard lock(mutex);
  for (uint32_t i = 0; i < table.importCount; ++i) {
    void *function = findRuntimeFunction(table.importNames[i]);
    if (!function)
      fail(ErrorKind::Unsupported, source,
           std::string("its code calls '") + table.importNames[i] +
               "', which this runtime does not have: a newer Headrace is needed");
    if (table.imports[i] != function)
      table.imports[i] = function;
  }
  for (uint32_t i = 0; i < table.kernelCount; ++i)
    kernels.emplace(table.kernelNames[i], table.kernels[i]);
}

KernelFn Code::find(const std::string &kernel) const {
  if (host)
    return host->find(kernel);
  auto found = kernels.find(kernel);
  return found == kernels.end() ? nullptr : found->second;
}

ProgramCode Code::codeFor(const Program &program, const std::string &source) const {
  ProgramCode code;
  code.kernels.resize(program.steps.size());
  code.memory = std::const_pointer_cast<Code>(shared_from_this());
  std::unordered_set<std::string> taken;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    if (step.kind != Step::Kind::Kernel)
      continue;
    bool isThere = true;
    if (step.engine == hostEngine) {
      code.kernels[i] = find(step.symbol);
      isThere = code.kernels[i] != nullptr;
    } else if (taken.insert(step.symbol).second) {
      auto found = images.find(step.symbol);
      isThere = found != images.end();
      if (isThere)
        code.images.push_back(found->second);
    }
    if (!isThere)
      fail(ErrorKind::InvalidFile, source,
           "the package is damaged: its code lacks '" + step.symbol + "' of step '" + step.name +
               "'");
  }
  return code;
}

std::string imagesToText(const std::vector<DeviceImage> &images) {
  Json json = Json::array();
  for (const DeviceImage &image : images)
    json.push_back({{"name", image.name}, {"text", image.text}});
  return json.dump(0);
}

} // namespace headrace
