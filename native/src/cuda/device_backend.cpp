#include "cuda/device_backend.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "cuda/device_dataset.h"
#include "cuda/device_readback.h"
#include "cuda/lowering.h"
#include "cuda/operators/tile_convolution.h"
#include "cuda/passes/passes.h"
#include "cuda/table.h"

namespace arbalest::cuda {
namespace {

std::atomic<int64_t> made_recordings{0};

// One for each thread, like the CUDA runtime's own current device: a learner's thread queues on its replica's stream.
DeviceStream*& used_stream() {
  thread_local DeviceStream* stream = nullptr;
  return stream;
}

// Memory of the device for the length of a call.
class Staging {
 public:
  Staging(DeviceBackend& backend, size_t bytes) : backend_(backend), data_(backend.allocate(bytes)), bytes_(bytes) {}
  ~Staging() { backend_.release(data_, bytes_); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  void* data() const { return data_; }

 private:
  DeviceBackend& backend_;
  void* data_;
  size_t bytes_;
};

// The copy of a data set on a device.
class DatasetCopy {
 public:
  DatasetCopy(DeviceBackend& backend, const Dataset& data)
      : samples_(backend, data.samples.size()),
        labels_(backend, data.labels.size() * sizeof(int32_t)),
        targets_(backend, data.targets.size() * sizeof(float)) {
    if (!data.samples.empty()) backend.write(samples_.data(), data.samples.data(), data.samples.size());
    if (!data.labels.empty()) backend.write(labels_.data(), data.labels.data(), data.labels.size() * sizeof(int32_t));
    if (!data.targets.empty()) backend.write(targets_.data(), data.targets.data(), data.targets.size() * sizeof(float));
    view.samples = backend.seen(samples_.data());
    view.labels = data.labels.empty() ? nullptr : static_cast<const int32_t*>(backend.seen(labels_.data()));
    view.targets = data.targets.empty() ? nullptr : static_cast<const float*>(backend.seen(targets_.data()));
  }

  DeviceDataset view;

 private:
  Staging samples_, labels_, targets_;
};

}  // namespace

int64_t recordings() { return made_recordings; }

DeviceStream::~DeviceStream() {
  if (notes_) backend_.release(notes_, notes_bytes_);
}

void DeviceStream::copy(void* to, const void* from, size_t bytes) {
  if (kept_)
    kept_->push_back(std::make_unique<KeptWork>(*this, "copy", [=, this] { queue_copy(to, from, bytes); }));
  else
    queue_copy(to, from, bytes);
}

LaunchList DeviceStream::keep(const std::function<void()>& work) {
  struct Keeping {
    LaunchList*& kept;
    ~Keeping() { kept = nullptr; }
  };
  LaunchList list;
  kept_ = &list;
  const Keeping keeping{kept_};
  work();
  return list;
}

DeviceStream::Notes::Notes(DeviceStream& stream, size_t bytes) : stream_(stream), turn_(stream.turn_) {
  if (stream.notes_bytes_ >= bytes) return;
  void* const larger = stream.backend_.allocate(bytes);
  if (stream.notes_) stream.backend_.release(stream.notes_, stream.notes_bytes_);
  stream.notes_ = larger;
  stream.notes_bytes_ = bytes;
}

std::shared_ptr<const DeviceDataset> device_dataset(const Dataset& dataset, DeviceStream& stream) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const void>& kept = dataset.on_devices[&stream.backend()];
  if (!kept) kept = std::make_shared<const DatasetCopy>(stream.backend(), dataset);
  const auto copy = std::static_pointer_cast<const DatasetCopy>(kept);
  return {copy, &copy->view};
}

LoweringAnswer DeviceBackend::lower(const LoweringRequest& request) {
  LoweringAnswer answer = lower_operator(request, max_cluster_size() > 1);
  if (!settings().sums) answer.partial_sums = 0;
  return answer;
}

size_t DeviceBackend::bytes(const TensorSpec& spec) { return bytes_of(spec); }

Stream* DeviceBackend::use_stream(Stream* stream) noexcept {
  auto* const next = static_cast<DeviceStream*>(stream);
  if (next) next->backend().make_current();
  return std::exchange(used_stream(), next);
}

DeviceStream& DeviceBackend::current() {
  DeviceStream* const used = used_stream();
  if (!used) {
    make_current();
    return own_stream();
  }
  if (&used->backend() == this) return *used;
  throw Error("INTERNAL", "device " + std::to_string(number_) + ": a thread that works for device " +
                              std::to_string(used->backend().number()) + " has come to it; report this");
}

OperatorSpec DeviceBackend::as_seen(const OperatorSpec& spec) const {
  OperatorSpec result = spec;
  for (auto* tensors : {&result.inputs, &result.outputs})
    for (Tensor& tensor : *tensors) tensor.data = seen(tensor.data);
  result.scratch = seen(spec.scratch);
  return result;
}

namespace {

// A kernel that a recording places on the main branch or on the side branch. Those of the libraries share a workspace: they stay on the
// main branch, and are kept whole where launches are kept.
class OrderedKernel final : public Kernel {
 public:
  OrderedKernel(MadeKernel kernel, std::string library_kind, Accesses accesses, bool may_leave, DeviceStream& stream)
      : kernel_(std::move(kernel)),
        library_kind_(std::move(library_kind)),
        accesses_(std::move(accesses)),
        may_leave_(may_leave),
        stream_(stream) {}
  void run(const StepContext& step) override {
    LaunchList* const kept = stream_.kept();
    if (!kept) {
      const Accesses* const own = &accesses_;
      stream_.side_branch().queue(std::span(&own, 1), may_leave_, [&] { kernel_->run(step); });
      return;
    }
    const size_t before = kept->size();
    if (library_kind_.empty())
      kernel_->run(step);
    else
      kept->push_back(std::make_unique<KeptWork>(stream_, library_kind_, [this] { kernel_->run({}); }));
    for (size_t i = before; i < kept->size(); ++i) {
      (*kept)[i]->accesses = &accesses_;
      (*kept)[i]->may_leave = may_leave_;
    }
  }

 private:
  const MadeKernel kernel_;
  const std::string library_kind_;  // empty for our own
  const Accesses accesses_;
  const bool may_leave_;
  DeviceStream& stream_;
};

}  // namespace

std::unique_ptr<Kernel> DeviceBackend::make(const OperatorSpec& spec) {
  OperatorSpec own = as_seen(spec);
  // Ports that are omitted at the end are absent.
  own.inputs.resize(std::max<size_t>(own.inputs.size(), 8));
  own.outputs.resize(std::max<size_t>(own.outputs.size(), 4));
  DeviceStream& stream = current();
  MadeKernel kernel;
  std::string library_kind;
  if (const Operator* op = OperatorTable<Operator>::find(own.kind); op && op->make) {
    kernel = op->make(own, stream);
  } else if (!(kernel = make_tile_convolution(own, stream))) {
    kernel = make_library(own, stream);
    library_kind = own.kind;
  }
  if (!kernel) throw Error("UNSUPPORTED_OPERATOR", "operator: received " + spec.kind + "; the cuda backend has no such operator yet");
  return std::make_unique<OrderedKernel>(std::move(kernel), std::move(library_kind), Accesses(own, *this), is_tile_weights_gradient(own),
                                         stream);
}

std::unique_ptr<Recording> DeviceBackend::record_kernels(const std::function<void()>& work, const void* company) {
  DeviceStream& stream = current();
  std::unique_ptr<Recording> alone = record(stream, work);
  ++made_recordings;
  const size_t seats = company ? settings().bank_seats : 0;
  if (seats < 2) return alone;
  return banks_.seat(company, seats, stream.keep(work), std::move(alone));
}

void DeviceBackend::reorder(const Tensor& from, const Tensor& to) {
  const size_t from_bytes = bytes(from.spec), to_bytes = bytes(to.spec);
  const bool from_here = is_on_device(from.data), to_here = is_on_device(to.data);
  // What is laid out alike needs no memory besides, of which a run within a limit may have none.
  if (from_here != to_here && from.spec.type == to.spec.type && from.spec.layout == to.spec.layout)
    return from_here ? read(to.data, from.data, from_bytes) : write(to.data, from.data, to_bytes);
  const Staging source(*this, from_here ? 0 : from_bytes), target(*this, to_here ? 0 : to_bytes);
  OperatorSpec spec{"reorder", "reorder", {}, {from}, {to}};
  if (!from_here) {
    spec.inputs[0].data = source.data();
    write(source.data(), from.data, from_bytes);
  }
  if (!to_here) spec.outputs[0].data = target.data();
  make(spec)->run({});
  if (!to_here)
    read(to.data, target.data(), to_bytes);
  else
    synchronise();
}

OptimiserPass DeviceBackend::as_seen(const OptimiserPass& pass) const {
  OptimiserPass own = pass;
  own.weights = seen(pass.weights);
  own.next = seen(pass.next);
  own.gradients = seen(pass.gradients);
  own.first = seen(pass.first);
  own.second = seen(pass.second);
  own.central = seen(pass.central);
  own.contribution = seen(pass.contribution);
  return own;
}

void DeviceBackend::optimise(const OptimiserPass& pass) { queue_optimise(as_seen(pass), current()); }

void DeviceBackend::optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) {
  std::vector<OptimiserPass> own_steps;
  for (const OptimiserPass& step : steps) own_steps.push_back(as_seen(step));
  AveragePass own = sum;
  own.base = seen(sum.base);
  own.to = seen(sum.to);
  queue_optimise_and_average(own_steps, own, current());
}

void DeviceBackend::average(const AveragePass& pass) {
  std::vector<const void*> summands;
  for (const void* summand : pass.summands) summands.push_back(seen(summand));
  AveragePass own = pass;
  own.base = seen(pass.base);
  own.to = seen(pass.to);
  own.summands = summands;
  queue_average(own, current());
}

void DeviceBackend::blend(const BlendPass& pass) {
  BlendPass own = pass;
  own.from = seen(pass.from);
  own.towards = seen(pass.towards);
  own.to = seen(pass.to);
  queue_blend(own, current());
}

void DeviceBackend::squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) {
  if (parts.empty()) return;
  std::vector<VectorPart> own(parts.begin(), parts.end());
  for (VectorPart& part : own) part.vector = seen(part.vector);
  const DeviceStream::Notes notes(current(), squares_bytes(own));
  queue_squares(type, own, static_cast<double*>(seen(notes.data())), current());
  read(sums.data(), notes.data(), own.size() * sizeof(double));
}

void DeviceBackend::copy(void* to, const void* from, size_t bytes) { current().copy(seen(to), seen(from), bytes); }

void DeviceBackend::read_together(std::span<const Reading> readings) {
  for (const Reading& reading : readings) read(reading.to, reading.from, reading.bytes);
}

std::unique_ptr<Readback> DeviceBackend::readback(std::span<const Reading> readings) {
  return settings().readback ? std::make_unique<DeviceReadback>(current(), readings) : nullptr;
}

}  // namespace arbalest::cuda
