#include "CompiledProgram.h"

#include "dialect/ConstantData.h"
#include "dialect/reference/Evaluator.h"
#include "driver/Compiler.h"
#include "driver/Contexts.h"
#include "driver/RunPasses.h"
#include "driver/Specialize.h"
#include "runtime/system/Error.h"
#include "runtime/system/ThreadPool.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace headrace {
namespace {

/// What one process measures in the background must not decide what the next one compiles.
[[maybe_unused]] const bool ratesArePinned = ::setenv("HEADRACE_RATES", "derived", 0) == 0;

const std::shared_ptr<MLIRContext> &sharedContext() {
  static std::shared_ptr<MLIRContext> context = contextFor(findTarget("cpu"));
  return context;
}

ThreadPool &pool(int threads) {
  static std::map<int, std::unique_ptr<ThreadPool>> pools;
  std::unique_ptr<ThreadPool> &entry = pools[threads];
  if (!entry)
    entry = std::make_unique<ThreadPool>(threads);
  return *entry;
}

/// Memory whose end is the end of a page with nothing behind it: reading on is a crash.
std::shared_ptr<void> guardedMemory(size_t bytes, void *&data) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t used = (bytes + page - 1) / page * page, total = used + page;
  void *start = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    throw std::runtime_error("no memory for a test's input");
  auto *first = static_cast<std::byte *>(start);
  mprotect(first + used, page, PROT_NONE);
  data = first + used - bytes;
  return {start, [total](void *memory) { munmap(memory, total); }};
}

template <class T> T specialNumber(std::mt19937 &random) {
  using Limits = std::numeric_limits<T>;
  static const T numbers[] = {Limits::quiet_NaN(),
                              Limits::infinity(),
                              -Limits::infinity(),
                              T(0),
                              -T(0),
                              Limits::denorm_min(),
                              Limits::min(),
                              Limits::max(),
                              Limits::lowest(),
                              T(1),
                              T(-1),
                              T(0.5),
                              T(-2.5),
                              T(3)};
  return numbers[random() % std::size(numbers)];
}

template <class T> void fillFloats(T *data, int64_t count, Fill fill, std::mt19937 &random) {
  std::uniform_real_distribution<double> uniform(-2, 2);
  for (int64_t i = 0; i < count; ++i)
    data[i] = fill == Fill::Special ? specialNumber<T>(random) : static_cast<T>(uniform(random));
}

template <class T> void fillIntegers(T *data, int64_t count, std::mt19937 &random) {
  for (int64_t i = 0; i < count; ++i)
    data[i] = static_cast<T>(static_cast<int64_t>(random() % 15) - 7);
}

bool isFloat(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
}

/// Relative to the largest element: what a handful of roundings in the type explains.
double toleranceOf(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return 4e-3;
  case DType::BF16:
    return 3e-2;
  case DType::F32:
    return 1e-5;
  default:
    return 1e-13;
  }
}

double largestOf(DType dtype) {
  if (dtype == DType::F64)
    return std::numeric_limits<double>::max();
  return dtype == DType::F16 ? 65504 : std::numeric_limits<float>::max();
}

bool bitwiseEqual(const Tensor &a, const Tensor &b) {
  return a.shape() == b.shape() && a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

} // namespace

Tensor randomTensor(DType dtype, const Shape &shape, Fill fill, unsigned seed) {
  std::mt19937 random(seed);
  int64_t count = elementCount(shape);
  void *data = nullptr;
  auto owner = guardedMemory(static_cast<size_t>(count) * sizeOf(dtype), data);
  switch (dtype) {
  case DType::F64:
    fillFloats(static_cast<double *>(data), count, fill, random);
    break;
  case DType::F32:
    fillFloats(static_cast<float *>(data), count, fill, random);
    break;
  case DType::F16:
  case DType::BF16: {
    Tensor wide = randomTensor(DType::F32, shape, fill, seed).converted(dtype);
    std::memcpy(data, wide.data(), wide.bytes());
    break;
  }
  case DType::Bool:
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint8_t *>(data)[i] = random() % 2;
    break;
  case DType::I8:
    fillIntegers(static_cast<int8_t *>(data), count, random);
    break;
  case DType::I16:
    fillIntegers(static_cast<int16_t *>(data), count, random);
    break;
  case DType::I32:
    fillIntegers(static_cast<int32_t *>(data), count, random);
    break;
  case DType::I64:
    fillIntegers(static_cast<int64_t *>(data), count, random);
    break;
  // Small numbers and those at the end of the range.
  case DType::U8:
    fillIntegers(static_cast<uint8_t *>(data), count, random);
    break;
  case DType::U16:
    fillIntegers(static_cast<uint16_t *>(data), count, random);
    break;
  case DType::U32:
    fillIntegers(static_cast<uint32_t *>(data), count, random);
    break;
  case DType::U64:
    fillIntegers(static_cast<uint64_t *>(data), count, random);
    break;
  default:
    throw std::runtime_error("tests have no inputs of type " + std::string(nameOf(dtype)));
  }
  return Tensor::borrow(dtype, shape, data, owner);
}

void expectClose(const Tensor &actual, const Tensor &expected, const std::string &what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  if (!isFloat(actual.dtype())) {
    Tensor a = actual.converted(DType::I64), e = expected.converted(DType::I64);
    for (int64_t i = 0; i < a.elements(); ++i)
      ASSERT_EQ(a.as<int64_t>()[i], e.as<int64_t>()[i]) << what << ", element " << i;
    return;
  }
  Tensor a = actual.converted(DType::F64), e = expected.converted(DType::F64);
  double largest = largestOf(actual.dtype()), scale = 1;
  for (int64_t i = 0; i < e.elements(); ++i)
    if (double magnitude = std::abs(e.as<double>()[i]); magnitude <= largest)
      scale = std::max(scale, magnitude);
  double tolerance = toleranceOf(actual.dtype()) * scale;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double got = a.as<double>()[i], want = e.as<double>()[i];
    bool close = std::isnan(want) ? std::isnan(got)
                 : std::abs(want) > largest
                     ? std::isinf(got) && std::signbit(got) == std::signbit(want)
                     : std::abs(got - want) <= tolerance;
    ASSERT_TRUE(close) << what << ", element " << i << " of shape " << shapeString(actual.shape())
                       << ": got " << got << ", expected " << want;
  }
}

CompiledProgram::CompiledProgram() : b(sharedContext().get()) {
  program = ModuleOp::create(loc());
  main = func::FuncOp::create(loc(), "main", b.getFunctionType({}, {}));
  program->push_back(main);
  b.setInsertionPointToStart(main.addEntryBlock());
}

CompiledProgram::CompiledProgram(const std::string &text) : b(sharedContext().get()) {
  program = parseSourceString<ModuleOp>(text, sharedContext().get());
  if (!program)
    throw std::runtime_error("the test's program does not parse");
  main = entryFunction(*program);
  finished = true;
}

MLIRContext *CompiledProgram::context() const { return sharedContext().get(); }

AffineExpr CompiledProgram::symbol(const std::string &name) {
  symbolNames.push_back(name);
  return getAffineSymbolExpr(symbolNames.size() - 1, context());
}

Value CompiledProgram::input(ArrayRef<int64_t> shape, Type element) {
  SymbolicShape dims;
  for (int64_t size : shape)
    dims.push_back(constantDim(size, context()));
  return symbolicInput(dims, element);
}

Value CompiledProgram::symbolicInput(const SymbolicShape &shape, Type element) {
  unsigned position = main.getNumArguments();
  main.insertArgument(position, tensorType(shape, element ? element : f32()), {}, loc());
  return main.getArgument(position);
}

Value CompiledProgram::constant(ArrayRef<int64_t> shape, Type element) {
  auto type = RankedTensorType::get(shape, element ? element : f32());
  Tensor numbers =
      randomTensor(toDType(type.getElementType()), Shape(shape), Fill::Uniform, 100 + constants++);
  return add<hr::ConstantOp>(tensorAttribute(numbers, type));
}

Value CompiledProgram::sum(ValueRange inputs) {
  return map(inputs, [&](OpBuilder &inner, ValueRange v) {
    Value total = v[0];
    for (Value next : v.drop_front())
      total = isa<FloatType>(next.getType())
                  ? inner.create<arith::AddFOp>(loc(), total, next).getResult()
                  : inner.create<arith::AddIOp>(loc(), total, next).getResult();
    return total;
  });
}

Value CompiledProgram::relu(Value input) {
  return map({input}, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value zero = inner.create<arith::ConstantOp>(loc(), inner.getZeroAttr(v[0].getType()));
    return inner.create<arith::MaximumFOp>(loc(), v[0], zero);
  });
}

Value CompiledProgram::exp(Value input) {
  return map({input}, [&](OpBuilder &inner, ValueRange v) -> Value {
    return inner.create<math::ExpOp>(loc(), v[0]);
  });
}

Value CompiledProgram::reduce(hr::ReduceKind kind, Value input, ArrayRef<int64_t> axes,
                              bool keepDims) {
  return add<hr::ReduceOp>(input, kind, axes, keepDims);
}

Value CompiledProgram::contract(const std::string &letters, Value lhs, Value rhs,
                                Type accumulator) {
  std::string order;
  SmallVector<SmallVector<AffineExpr>> exprs(1);
  for (char c : letters) {
    if (c == ',' || c == '>') {
      exprs.emplace_back();
    } else if (c != '-') {
      size_t at = order.find(c);
      if (at == std::string::npos) {
        at = order.size();
        order += c;
      }
      exprs.back().push_back(getAffineDimExpr(at, context()));
    }
  }
  SmallVector<AffineMap> maps;
  for (auto &list : exprs)
    maps.push_back(AffineMap::get(order.size(), 0, list, context()));
  return add<hr::ContractOp>(lhs, rhs, b.getAffineMapArrayAttr(maps),
                             accumulator ? TypeAttr::get(accumulator) : TypeAttr());
}

Value CompiledProgram::transpose(Value input, ArrayRef<int64_t> permutation) {
  return add<hr::TransposeOp>(input, permutation);
}

Value CompiledProgram::reshape(Value input, ArrayRef<int64_t> shape) {
  Type element = cast<RankedTensorType>(input.getType()).getElementType();
  return add<hr::ReshapeOp>(RankedTensorType::get(shape, element), input);
}

Value CompiledProgram::name(Value value, const std::string &stage,
                            const std::vector<std::string> &axes) {
  Operation *op = value.getDefiningOp();
  op->setAttr(kStageAttr, b.getStringAttr(stage));
  if (!axes.empty())
    op->setAttr(kAxesAttr, b.getStrArrayAttr(SmallVector<StringRef>(axes.begin(), axes.end())));
  return value;
}

ModuleOp CompiledProgram::module() {
  if (!finished) {
    b.create<func::ReturnOp>(loc(), results);
    SmallVector<Type> types;
    for (Value result : results)
      types.push_back(result.getType());
    main.setFunctionType(b.getFunctionType(main.getArgumentTypes(), types));
    SmallVector<StringRef> names(symbolNames.begin(), symbolNames.end());
    main->setAttr(kSymbolsAttr, b.getStrArrayAttr(names));
    if (failed(verify(*program)))
      throw std::runtime_error("the test's program is not valid");
    finished = true;
  }
  return *program;
}

std::string CompiledProgram::text() {
  std::string result;
  llvm::raw_string_ostream os(result);
  module().print(os, OpPrintingFlags().elideLargeElementsAttrs(8).elideLargeResourceString(8));
  return result;
}

void CompiledProgram::checkRecipes(ModuleOp lowered) {
  if (plainLoopsAllowed)
    return;
  for (ModuleOp kernel : lowered.getOps<ModuleOp>())
    if (auto reason = kernel->getAttrOfType<StringAttr>("hr.recipe_refused")) {
      std::string schedule;
      llvm::raw_string_ostream os(schedule);
      os << kernel->getAttr("hr.recipe");
      ADD_FAILURE() << "the recipe of kernel " << kernel.getSymName()->str()
                    << " was refused: " << reason.str() << "\n"
                    << schedule << "\n"
                    << text();
    }
}

Settings CompiledProgram::settings() const {
  Settings settings;
  settings.target = target;
  settings.expansion = expansion;
  settings.recipe = recipe;
  return settings;
}

OwningOpRef<ModuleOp> CompiledProgram::scheduled() {
  OwningOpRef<ModuleOp> version = module().clone();
  Compiler(sharedContext(), settings(), "test").runPhases(*version, "schedule");
  return version;
}

std::shared_ptr<const Executable> CompiledProgram::compile(const Sizes &sizes) {
  std::vector<std::optional<int64_t>> key;
  for (int64_t size : sizes)
    key.push_back(size < 2 ? std::optional(size) : std::nullopt);
  for (auto &[known, executable] : compiled)
    if (known == key)
      return executable;
  OwningOpRef<ModuleOp> version = specializeProgram(module(), key);
  auto executable = Compiler(sharedContext(), settings(), "test").compile(*version);
  checkRecipes(*version);
  compiled.emplace_back(key, executable);
  return executable;
}

std::vector<Tensor> CompiledProgram::run(const std::vector<Tensor> &inputs, const Sizes &sizes) {
  return compile(sizes)->run(inputs, pool(1));
}

std::vector<Tensor> CompiledProgram::makeInputs(const Sizes &sizes, Fill fill, unsigned seed) {
  std::vector<Tensor> inputs;
  for (BlockArgument argument : main.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    Shape shape;
    for (AffineExpr dim : shapeOf(type))
      shape.push_back(toDimExpr(dim).evaluate(sizes));
    inputs.push_back(randomTensor(toDType(type.getElementType()), shape, fill, seed++));
  }
  return inputs;
}

void CompiledProgram::check(const Sizes &sizes, Fill fill, unsigned seed) {
  std::shared_ptr<const Executable> executable;
  try {
    executable = compile(sizes);
  } catch (const std::exception &error) {
    FAIL() << error.what() << "\n" << text();
  }
  stepCount = static_cast<int64_t>(executable->program().steps.size());
  calledRoutines.clear();
  for (const Step &step : executable->program().steps)
    if (step.kind == Step::Kind::Library)
      calledRoutines.push_back(step.symbol);
  std::vector<Tensor> inputs = makeInputs(sizes, fill, seed);
  std::vector<Tensor> expected = evaluateFunction(main, inputs, sizes, /*keepDouble=*/true);
  std::vector<Tensor> actual = executable->run(inputs, pool(1));
  ASSERT_EQ(actual.size(), expected.size());
  Operation *ret = main.getBody().front().getTerminator();
  for (size_t i = 0; i < actual.size(); ++i) {
    std::string what = "output " + std::to_string(i);
    if (Operation *producer = ret->getOperand(i).getDefiningOp()) {
      llvm::raw_string_ostream os(what);
      os << " of ";
      producer->print(os, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs(8));
    }
    for (int64_t size : sizes)
      what += ", size " + std::to_string(size);
    expectClose(actual[i], expected[i], what);
  }
  if (testing::Test::HasFatalFailure())
    FAIL() << text();
  for (int threads : {2, 3, 8}) {
    std::vector<Tensor> again = executable->run(inputs, pool(threads));
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_TRUE(bitwiseEqual(actual[i], again[i]))
          << "output " << i << " depends on the threads (" << threads << ")";
  }
}

} // namespace headrace
