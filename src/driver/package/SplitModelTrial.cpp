#include "driver/package/SplitModelTrial.h"

#include "analysis/cost/SizeHints.h"
#include "driver/CompiledRegion.h"
#include "package/GraphJson.h"
#include "runtime/system/Error.h"
#include "runtime/system/Listing.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <random>
#include <set>

namespace headrace {
namespace {

/// Notes the regions that run.
class RegionRecorder : public adaptive::Executor {
public:
  std::vector<Tensor> runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                std::span<const Tensor> inputs) override {
    used.insert(region);
    return Executor::runRegion(region, inputs);
  }

  std::set<std::shared_ptr<const adaptive::Region>> used;
};

/// A tensor of numbers with the declared dimensions; `got` is a value of a trial run, for ranks
/// that are not declared.
PackagedTensor packaged(const ValueSpec &spec, const std::string &what, const RuntimeValue *got,
                        const std::map<std::string, int64_t> &fixed) {
  std::optional<DType> type = parseDType(spec.type);
  const Tensor *tensor = got ? got->tensor() : nullptr;
  if (!type && tensor && spec.type == "?")
    type = tensor->dtype();
  if (!type || (!spec.shape && !tensor))
    throw Error(ErrorKind::Unsupported, what + " " + inQuotes(spec.name) +
                                            ": expected a numeric tensor, which a package can "
                                            "take and return, got " +
                                            spec.type);
  PackagedTensor result{spec.name, *type, {}, {}};
  if (!spec.shape) {
    result.dims.assign(tensor->shape().size(), -1);
    result.dimNames.resize(tensor->shape().size());
    return result;
  }
  for (const auto &dim : *spec.shape) {
    const auto *name = std::get_if<std::string>(&dim);
    auto value = name ? fixed.find(*name) : fixed.end();
    result.dims.push_back(!name                  ? std::get<int64_t>(dim)
                          : value == fixed.end() ? -1
                                                 : value->second);
    result.dimNames.push_back(name ? *name : "");
  }
  return result;
}

/// Dynamic dimensions of the model's inputs that regions serve some extents of: one if all samples
/// had the same, multiples if the nodes ask for that.
std::vector<std::string> restrictedSizes(const PackagedSplitModel &model) {
  std::vector<std::string> notes;
  const adaptive::Graph &graph = *model.graphs.front();
  for (size_t i = 0; i < model.inputs.size(); ++i)
    for (size_t d = 0; d < model.inputs[i].dims.size(); ++d) {
      if (model.inputs[i].dims[d] >= 0)
        continue;
      std::set<std::string> extents;
      int64_t step = 1;
      for (const PackagedRegion &region : model.regions)
        for (size_t k = 0; region.graph == 0 && k < region.region->inputs.size(); ++k) {
          if (region.region->inputs[k] != graph.inputs[i])
            continue;
          step = std::max(step, region.region->steps[k][d]);
          if (region.region->steps[k][d] == 0)
            extents.insert(std::to_string(region.region->sizes[k][d]));
        }
      const std::string &name = model.inputs[i].dimNames[d];
      std::string what = model.name + ": input " + inQuotes(model.inputs[i].name) + ", dimension " +
                         std::to_string(d) + (name.empty() ? "" : " (" + inQuotes(name) + ")") +
                         ": ";
      if (!extents.empty())
        notes.push_back(what + "the package serves " + listed(extents) +
                        "; samples of different extents (--input) make the dimension dynamic");
      else if (step > 1)
        notes.push_back(what + "the package serves multiples of " + std::to_string(step));
    }
  return notes;
}

} // namespace

TriedSplitModel trySplitModel(split::SplitProgram &model, std::string name,
                              std::span<const std::vector<RuntimeValue>> samples,
                              const std::map<std::string, int64_t> &fixed) {
  constexpr int maxRounds = 8;
  std::set<std::shared_ptr<const adaptive::Region>> used;
  std::vector<RuntimeValue> results;
  for (int round = 0; round < maxRounds; ++round) {
    RegionRecorder recorder;
    for (const std::vector<RuntimeValue> &sample : samples)
      try {
        results = model.run(sample, recorder);
      } catch (const Error &error) {
        throw Error(error.kind(), model.name() + ": a trial run failed: " + error.what() +
                                      "; --input gives it samples to try");
      }
    bool isStable = recorder.used == used;
    used = std::move(recorder.used);
    if (isStable)
      break;
  }
  TriedSplitModel tried;
  tried.model.name = std::move(name);
  for (const ValueSpec &spec : model.inputSpecs())
    tried.model.inputs.push_back(packaged(spec, model.name() + ": input", nullptr, fixed));
  std::vector<ValueSpec> outputs = model.outputSpecs();
  for (size_t i = 0; i < outputs.size(); ++i)
    tried.model.outputs.push_back(
        packaged(outputs[i], model.name() + ": output", &results[i], fixed));
  tried.model.graphs = graphsWithin(model.graph());
  for (size_t i = 0; i < tried.model.graphs.size(); ++i)
    for (const auto &[done, region] : tried.model.graphs[i]->ownRegions()) {
      if (!used.contains(region))
        continue;
      auto copy = std::make_shared<adaptive::Region>(*region);
      copy->code = nullptr;
      tried.model.regions.push_back({i, done, std::move(copy), {}});
      tried.programs.push_back(modelOf(*region).copyOfProgram());
    }
  tried.notes = restrictedSizes(tried.model);
  return tried;
}

static Tensor randomTensor(DType type, const Shape &shape, std::mt19937_64 &numbers) {
  Tensor values = Tensor::allocate(DType::F64, shape);
  bool isReal =
      type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
  // Some are 0, so that the number of others depends on data.
  std::uniform_real_distribution<double> real(-0.25, 1);
  for (int64_t i = 0; i < values.elements(); ++i)
    values.as<double>()[i] =
        isReal ? std::max(real(numbers), 0.0) : static_cast<double>(numbers() % 2);
  return values.converted(type);
}

std::vector<std::vector<RuntimeValue>> randomSamples(const split::SplitProgram &model,
                                                     const std::map<std::string, int64_t> &fixed) {
  constexpr int64_t kUnknownSize = 32; // and multiples: images are scaled down by powers of two
  constexpr int64_t kSamples = 3;
  std::mt19937_64 numbers(0);
  std::vector<std::vector<RuntimeValue>> samples;
  for (int64_t number = 1; number <= kSamples; ++number) {
    std::vector<RuntimeValue> &sample = samples.emplace_back();
    std::vector<std::string> dims; // dynamic ones: sizes of two must have nothing in common
    for (const ValueSpec &spec : model.inputSpecs()) {
      PackagedTensor declared = packaged(spec, model.name() + ": input", nullptr, fixed);
      Shape shape;
      for (size_t i = 0; i < declared.dims.size(); ++i) {
        if (declared.dims[i] >= 0) {
          shape.push_back(declared.dims[i]);
          continue;
        }
        const std::string &dim = declared.dimNames[i];
        auto known = dim.empty() ? dims.end() : std::ranges::find(dims, dim);
        int64_t place = known - dims.begin();
        if (known == dims.end())
          dims.push_back(dim);
        int64_t hint = SizeHints::fromName(dim);
        shape.push_back((hint > 0 ? hint : kUnknownSize) * number * (place + 1));
      }
      sample.emplace_back(randomTensor(declared.dtype, shape, numbers));
    }
  }
  return samples;
}

} // namespace headrace
