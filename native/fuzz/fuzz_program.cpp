// Any Program: refused with a code, or bound and run for two steps, and read.
#include "guarded_backend.h"
#include "harness.h"
#include "replica/replica.h"

namespace arbalest::fuzz {
namespace {

std::shared_ptr<const Dataset> dataset(size_t which) {
  constexpr int64_t kCount = 6, kClasses = 5;
  auto data = std::make_shared<Dataset>();
  data->count = kCount;
  data->classes = kClasses;
  const Shape samples[] = {{12}, {3, 8, 8}, {4}};
  data->sample = samples[which];
  if (which == 2) {
    data->sample_type = Type::i32;
    data->stride = 4;
    data->samples.resize(5 * kCount * size_of(Type::i32));
    return data;
  }
  data->samples.resize(static_cast<size_t>(kCount * elements_of(data->sample)), 37);
  data->labels = {0, 3, 1, 4, 2, 0};
  return data;
}

}  // namespace

void run(Input& input) {
  Backend& backend = guarded_backend();
  static const std::shared_ptr<const Dataset> data[] = {dataset(0), dataset(1), dataset(2)};
  const Source source{data[input.below(std::size(data))], nullptr};
  RunLimits limits{2, 200, static_cast<uint64_t>(input.natural()), input.real(), {}};
  const auto program = std::make_shared<const Program>(input.program());
  program->check();
  Replica replica(backend, {.layout = program->parameters, .seed = 3});
  const int slot = replica.bind(program, source);
  replica.run(slot, limits);
  for (const auto& [name, id] : program->named) {
    const TensorSpec spec = replica.value_spec(slot, name);
    std::vector<std::byte> canonical(static_cast<size_t>(elements_of(spec.shape)) * size_of(spec.type));
    replica.read_value(slot, name, canonical.data());
    replica.write_value(slot, name, canonical.data());
  }
  std::vector<std::byte> canonical(program->parameters.elements * size_of(program->parameters.type()));
  for (VectorName which : {VectorName::weights, VectorName::gradients}) replica.read_vector(which, canonical.data());
  for (Segment segment : {Segment::load, Segment::forward, Segment::backward, Segment::exchange, Segment::update})
    replica.run_segment(slot, segment, limits);
}

}  // namespace arbalest::fuzz
