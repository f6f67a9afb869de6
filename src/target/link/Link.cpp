#include "target/link/Link.h"

#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "target/link/CodeTables.h"

#include "lld/Common/Driver.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;

namespace headrace {
namespace {

/// Where the linker finds and leaves its files; gone with this object.
class LinkFolder {
public:
  LinkFolder() {
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("headrace-link", path))
      throw Error(ErrorKind::Io, "cannot create a directory for linking: " + error.message());
  }
  ~LinkFolder() {
    (void)llvm::sys::fs::remove_directories(path); // the system clears what is left
  }
  LinkFolder(const LinkFolder &) = delete;

  std::string file(const llvm::Twine &name) const { return (path + "/" + name).str(); }

  std::string write(const llvm::Twine &name, StringRef content) const {
    std::string target = file(name);
    std::error_code error;
    llvm::raw_fd_ostream stream(target, error);
    stream << content;
    stream.close();
    if (error || stream.has_error()) {
      stream.clear_error();
      throw Error(ErrorKind::Io, target + ": cannot write");
    }
    return target;
  }

private:
  UnfinishedFile unfinished;
  llvm::SmallString<128> path;
};

std::string runLinker(ArrayRef<std::string> options, ArrayRef<StringRef> objects) {
  LinkFolder folder;
  std::string output = folder.file("output");
  SmallVector<std::string> arguments = {"ld.lld", "-o", output, "--threads=1"};
  llvm::append_range(arguments, options);
  for (auto [i, object] : llvm::enumerate(objects))
    arguments.push_back(folder.write(llvm::Twine(i) + ".o", object));
  SmallVector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  {
    static std::mutex mutex; // the linker keeps its state in globals
    CompilerSection section; // no fork while it is locked
    std::lock_guard lock(mutex);
    lld::Result result =
        lld::lldMain(pointers, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode != 0)
      throw InternalError("cannot link a package: " + StringRef(messages).split('\n').first.str());
  }
  auto file =
      llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    throw Error(ErrorKind::Io, output + ": cannot read: " + file.getError().message());
  return (*file)->getBuffer().str();
}

std::string linkShared(ArrayRef<StringRef> objects) {
  return runLinker({"-shared", "--no-undefined", "--gc-sections", "--build-id=none",
                    "--hash-style=gnu", "-z", "now", "-z", "relro", "-z", "noexecstack"},
                   objects);
}

/// Names that only the object itself uses must not meet those of the program it is linked into.
std::string localizeHidden(StringRef object) {
  auto fail = [](llvm::Error error) {
    throw InternalError("cannot make an object: " + llvm::toString(std::move(error)));
  };
  auto binary = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!binary)
    fail(binary.takeError());
  llvm::objcopy::ConfigManager config;
  config.ELF.LocalizeHidden = true;
  llvm::SmallString<0> result;
  llvm::raw_svector_ostream stream(result);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, **binary, stream))
    fail(std::move(error));
  return result.str().str();
}

} // namespace

std::string linkKernels(ArrayRef<KernelObject> kernels) {
  std::string tables = codeTableObject(kernels);
  SmallVector<StringRef> objects = {tables};
  for (const KernelObject &kernel : kernels)
    objects.push_back(kernel.object->getBuffer());
  return linkShared(objects);
}

std::string linkImage(const ImageParts &parts, ImageKind kind) {
  std::string tables = imageObject(parts);
  SmallVector<StringRef> objects = {tables};
  for (ArrayRef<KernelObject> code : parts.code)
    for (const KernelObject &kernel : code)
      objects.push_back(kernel.object->getBuffer());
  if (kind == ImageKind::SharedObject)
    return linkShared(objects);
  return localizeHidden(runLinker({"-r"}, objects));
}

std::string makeArchive(StringRef object, StringRef name) {
  llvm::NewArchiveMember member(llvm::MemoryBufferRef(object, name));
  auto archive = llvm::writeArchiveToBuffer(member, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                            /*Thin=*/false);
  if (!archive)
    throw InternalError("cannot make an archive: " + llvm::toString(archive.takeError()));
  return (*archive)->getBuffer().str();
}

} // namespace headrace
