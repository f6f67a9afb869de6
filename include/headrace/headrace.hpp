// The C interface (headrace.h) for C++17: owning handles, exceptions, typed arrays.
//
//   headrace::Package package("digits.hrpkg");
//   headrace::Result result = package.program().run({headrace::Input(pixels, {4, 1, 8, 8})});
//   const float *logits = result.data<float>(0);
#ifndef HEADRACE_HEADRACE_HPP
#define HEADRACE_HEADRACE_HPP

#include <cstdint>
#include <headrace/headrace.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace headrace {
inline namespace v1 {

/// Thrown by everything below if a call of the C interface fails; `what()` is its message.
class Error : public std::runtime_error {
public:
  Error(headrace_status status, const std::string &message)
      : std::runtime_error(message), code(status) {}
  /// The status of the failed call.
  headrace_status status() const { return code; }

private:
  headrace_status code;
};

/// Throws Error unless the status is HEADRACE_OK.
inline void check(headrace_status status) {
  if (status != HEADRACE_OK)
    throw Error(status, headrace_last_error());
}

/// The element type of T. C++17 has no type for f16 and bf16: pass a `headrace_type` for them.
template <class T> constexpr headrace_type typeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return HEADRACE_BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return HEADRACE_F32;
  else if constexpr (std::is_same_v<T, double>)
    return HEADRACE_F64;
  else {
    static_assert(std::is_integral_v<T>, "expected a number or bool");
    constexpr int wide = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<headrace_type>(HEADRACE_I8 + 2 * wide + (std::is_unsigned_v<T> ? 1 : 0));
  }
}

/// The extents of a tensor's dimensions.
using Shape = std::vector<int64_t>;

/// An input in the caller's memory, which is not copied and must outlive the call.
class Input {
public:
  /// An array in C order, whose element type is that of T.
  template <class T>
  Input(const T *data, Shape shape) : Input(data, typeOf<T>(), std::move(shape)) {}
  /// An array in C order, of any element type.
  Input(const void *data, headrace_type type, Shape shape)
      : sizes(std::move(shape)), memory(const_cast<void *>(data)), type(type) {}

  /// The array as the C interface takes it; valid as long as this object.
  headrace_tensor view() const {
    return {memory, sizes.data(), static_cast<int32_t>(sizes.size()), type};
  }

private:
  Shape sizes;
  void *memory;
  headrace_type type;
};

/// The outputs of a call, counted from 0. Functions throw Error if there is no such output.
class Result {
public:
  /// Takes ownership of a result of the C interface.
  explicit Result(headrace_result *result) : handle(result, &headrace_result_free) {}

  /// The shape of an output.
  Shape shape(size_t output) const {
    const headrace_tensor &tensor = at(output);
    return Shape(tensor.shape, tensor.shape + tensor.rank);
  }
  /// The number of elements of an output.
  size_t elements(size_t output) const {
    size_t count = 1;
    for (int64_t size : shape(output))
      count *= static_cast<size_t>(size);
    return count;
  }
  /// The elements in C order, valid as long as the result. Throws Error if T is not their type.
  template <class T> const T *data(size_t output) const {
    const headrace_tensor &tensor = at(output);
    if (tensor.type != typeOf<T>())
      throw Error(HEADRACE_TYPE_MISMATCH, "output " + std::to_string(output) +
                                              " has elements of another type than requested");
    return static_cast<const T *>(tensor.data);
  }
  /// A copy of the elements in C order. Throws Error if T is not their type.
  template <class T> std::vector<T> values(size_t output) const {
    const T *begin = data<T>(output);
    return std::vector<T>(begin, begin + elements(output));
  }
  /// The output as the C interface gives it; valid as long as the result.
  const headrace_tensor &at(size_t output) const {
    const headrace_tensor *tensor = headrace_result_output(handle.get(), output);
    if (!tensor)
      throw Error(HEADRACE_INVALID_ARGUMENT, "there is no output " + std::to_string(output));
    return *tensor;
  }

private:
  std::unique_ptr<headrace_result, void (*)(headrace_result *)> handle;
};

/// A program of a package, valid as long as the package.
class Program {
public:
  /// Refers to a program of the C interface.
  explicit Program(const headrace_program *program) : handle(program) {}

  /// The program's name.
  std::string name() const { return headrace_program_name(handle); }
  /// The number of inputs.
  size_t inputCount() const { return headrace_program_input_count(handle); }
  /// The number of outputs.
  size_t outputCount() const { return headrace_program_output_count(handle); }
  /// The declaration of an input, counted from 0. Throws Error if there is no such input.
  const headrace_spec &input(size_t index) const {
    return specOr(headrace_program_input(handle, index));
  }
  /// The declaration of an output, counted from 0. Throws Error if there is no such output.
  const headrace_spec &output(size_t index) const {
    return specOr(headrace_program_output(handle, index));
  }

  /// Runs the program. Throws Error if the inputs do not match the declarations.
  Result run(const std::vector<Input> &inputs) const {
    return resultOf(inputs, [&](const headrace_tensor *views, headrace_result **result) {
      return headrace_run_new(handle, views, inputs.size(), result);
    });
  }

  /// Runs a packaged script, with arguments such as "tol=1e-6" for its `$tol`.
  Result run(const std::vector<Input> &inputs, const std::vector<std::string> &arguments) const {
    std::vector<const char *> texts;
    for (const std::string &argument : arguments)
      texts.push_back(argument.c_str());
    return resultOf(inputs, [&](const headrace_tensor *views, headrace_result **result) {
      return headrace_run_script(handle, texts.data(), texts.size(), views, inputs.size(), result);
    });
  }

  /// The program as the C interface takes it.
  const headrace_program *get() const { return handle; }

private:
  template <class Call> static Result resultOf(const std::vector<Input> &inputs, Call call) {
    std::vector<headrace_tensor> views;
    for (const Input &input : inputs)
      views.push_back(input.view());
    headrace_result *result = nullptr;
    check(call(views.data(), &result));
    return Result(result);
  }
  static const headrace_spec &specOr(const headrace_spec *spec) {
    if (!spec)
      throw Error(HEADRACE_INVALID_ARGUMENT, "there is no input or output of this number");
    return *spec;
  }

  const headrace_program *handle;
};

/// An open package. Closes it at the end of its life; results stay valid.
class Package {
public:
  /// Opens the package in a file. Throws Error if the file is not a package for this machine.
  explicit Package(const std::string &path) {
    headrace_package *package = nullptr;
    check(headrace_package_open(path.c_str(), &package));
    handle.reset(package);
  }
  /// Opens a package that is linked into the process.
  explicit Package(const headrace_image &image) {
    headrace_package *package = nullptr;
    check(headrace_package_open_image(&image, &package));
    handle.reset(package);
  }

  /// The microarchitecture level of the chosen code: "x86-64-v3"; for a CUDA device "sm_90a".
  std::string level() const { return headrace_package_level(handle.get()); }
  /// The number of programs.
  size_t programCount() const { return headrace_package_program_count(handle.get()); }
  /// The only program. Throws Error if there are several.
  Program program() const { return find(nullptr); }
  /// The program of this name. Throws Error if there is no such program.
  Program program(const std::string &name) const { return find(name.c_str()); }

private:
  Program find(const char *name) const {
    const headrace_program *program = nullptr;
    check(headrace_package_program(handle.get(), name, &program));
    return Program(program);
  }

  struct Close {
    void operator()(headrace_package *package) const { headrace_package_close(package); }
  };
  std::unique_ptr<headrace_package, Close> handle;
};

} // namespace v1
} // namespace headrace

#endif
