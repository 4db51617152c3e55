#include "sync/averaging.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "sync/trained_ranges.h"
#include "transport/make_levels.h"

namespace arbalest {

class Averaging::Pass {
 public:
  Pass(size_t on_device, SharedPass::Work work, size_t begin, size_t end, size_t piece, std::function<bool()> next)
      : device(on_device), pieces(begin, end, piece, std::move(work)), then(std::move(next)) {}

  const size_t device;
  SharedPass pieces;
  const std::function<bool()> then;  // after the last piece; true where the round is whole
};

Averaging::Averaging(Backend& backend, const GroupSpec& spec, std::vector<Bucket> buckets, const std::byte* initial_canonical,
                     ReductionPipeline::Reduced reduced, ReductionPipeline::Failed failed)
    : type_(spec.layout.type()),
      elements_(spec.layout.length()),
      frozen_(spec.layout.frozen()),
      buckets_(std::move(buckets)),
      owners_apply_(std::ranges::any_of(spec.levels, &LevelSpec::owners_apply)),
      streams_(backend, spec.devices) {
  for (size_t device = 0; device < streams_.devices(); ++device)
    central_.emplace_back(streams_.backend(device), spec, initial_canonical, device == 0);
  if (spec.levels.empty()) return;
  for (size_t device = 0; device < streams_.devices(); ++device) sums_.emplace_back(streams_.backend(device), spec.layout.bytes);
  auto levels = make_levels(backend, spec.devices, spec.levels, type_, spec.layout.bytes, buckets_, &central_.front());
  for (size_t level = 0; level < levels.size(); ++level)
    if (spec.levels[level].kind == LevelSpec::Kind::devices && !levels[level]->joins_hosts()) between_devices_ = levels[level].get();
  pipeline_ = std::make_unique<ReductionPipeline>(std::move(levels), spans_, std::move(reduced), std::move(failed));
}

Averaging::~Averaging() {
  if (pipeline_) pipeline_->end();
  // Nothing may be at work in what is given back.
  try {
    streams_.synchronise();
  } catch (const Error&) {
    // The replicas' own streams tell it too.
  }
}

void Averaging::replace(const std::byte* canonical) {
  for (CentralModel& central : central_) central.replace(canonical);
}

void Averaging::set_momentum(double momentum) {
  for (CentralModel& central : central_) central.set_momentum(momentum);
}

double Averaging::distance(size_t device, int64_t round, const Memory& weights, const Memory& difference) const {
  std::vector<VectorPart> parts;
  for_each_range(frozen_, 0, elements_, [&](size_t begin, size_t end, bool learns) {
    if (learns) parts.push_back({difference.data(), begin, end});
  });
  if (parts.empty()) return 0;
  const void* const own = weights.data();
  backend(device).average({type_, 0, elements_, central_[device].weights(round), difference.data(), std::span(&own, 1), -1, 0});
  std::vector<double> sums(parts.size());
  backend(device).squares(type_, parts, sums);
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

void Averaging::restore(int64_t round, const Snapshot& snapshot) {
  for (CentralModel& central : central_) central.restore(round, snapshot);
}

void Averaging::set_present(int64_t round, const std::vector<int>& devices) {
  if (!between_devices_ || devices == present_) return;
  between_devices_->set_ranks(round, devices);
  present_ = devices;
}

void Averaging::begin(const ClosingRound& round, size_t present) {
  round_ = round.round;
  device_sums_.assign(buckets_.size(), {std::vector<PartialSum>(central_.size()), present});
  started_ = 0;
  passes_left_ = buckets_.size() * central_.size();
  contributions_ = 0;
  norms_measured_ = false;
  unmade_.assign(buckets_.size(), central_.size());
  for (size_t device = 0; device < central_.size(); ++device) {
    const UsedStream used = streams_.use(device);
    central_[device].begin_averaging(round);
  }
  if (pipeline_) start_whole_buckets();
}

void Averaging::take_contributions(size_t bucket, size_t device, const std::vector<Contribution>& contributions) {
  const UsedStream used = streams_.use(device);
  std::vector<const void*> vectors;
  std::vector<std::shared_ptr<const DueStep>> due_steps;
  for (const auto& [vector, due, ready] : contributions) {
    backend(device).queue_after(ready);
    kept_.push_back(vector);
    vectors.push_back(vector->data());
    if (!due) continue;
    kept_.push_back(due);
    due_steps.push_back(due);
  }
  const auto learners = static_cast<int64_t>(vectors.size());
  if (!pipeline_) contributions_ += learners;
  if (!due_steps.empty()) return apply_due_steps(bucket, vectors, due_steps);
  if (!pipeline_) return apply(bucket, device, vectors, learners);
  if (learners == 0) return take_device_sum(bucket, device, {});
  // The sum over one is where it lies.
  if (learners == 1) return take_device_sum(bucket, device, {static_cast<const std::byte*>(vectors.front()), 1});
  std::byte* const sum = sums_[device].data();
  begin_pass(
      bucket, device,
      [this, device, vectors, sum](size_t begin, size_t end) {
        backend(device).average({type_, begin, end, nullptr, sum, vectors, 1, 0});
      },
      [this, bucket, device, sum, learners] {
        take_device_sum(bucket, device, {sum, learners});
        return false;
      });
}

void Averaging::take_device_sum(size_t bucket, size_t device, PartialSum part) {
  part.ready = backend(device).mark();
  device_sums_[bucket].parts[device] = std::move(part);
  --device_sums_[bucket].missing;
  start_whole_buckets();
}

void Averaging::start_whole_buckets() {
  for (; started_ < buckets_.size() && device_sums_[started_].missing == 0; ++started_) {
    follow_absent(device_sums_[started_].parts);
    pipeline_->start({round_, started_, buckets_[started_], device_sums_[started_].parts});
  }
}

void Averaging::follow_absent(std::vector<PartialSum>& parts) const {
  for (size_t device = 0; device < parts.size() && has_streams(); ++device) {
    if (parts[device].ready) continue;
    const UsedStream used = streams_.use(device);
    parts[device].ready = backend(device).mark();
  }
}

void Averaging::take_sum(const BucketReduction& reduction) {
  contributions_ += reduction.parts.front().learners;
  for (size_t device = 0; device < central_.size() && owners_apply_; ++device) adopt(reduction.bucket, device);
  for (size_t device = 0; device < central_.size() && !owners_apply_; ++device) {
    // Devices that share one memory have one sum for all.
    const PartialSum& sum = reduction.parts[std::min(device, reduction.parts.size() - 1)];
    const UsedStream used = streams_.use(device);
    backend(device).queue_after(sum.ready);
    apply(reduction.bucket, device, sum.learners > 0 ? std::vector<const void*>{sum.vector} : std::vector<const void*>{}, sum.learners);
  }
}

void Averaging::apply(size_t bucket, size_t device, const std::vector<const void*>& contributions, int64_t learners) {
  CentralModel& central = central_[device];
  SharedPass::Work work;
  if (central.needs_whole_sum())
    work = [&central, contributions, scale = 1.0 / static_cast<double>(std::max<int64_t>(learners, 1))](size_t begin, size_t end) {
      central.sum(contributions, scale, begin, end);
    };
  else
    work = [&central, contributions, count = static_cast<size_t>(learners)](size_t begin, size_t end) {
      central.apply(contributions, count, begin, end);
    };
  begin_pass(bucket, device, std::move(work), [this, bucket] { return finish_bucket(bucket); });
}

void Averaging::adopt(size_t bucket, size_t device) {
  const std::byte* const next = central_.front().result(round_);
  begin_pass(
      bucket, device, [&central = central_[device], next](size_t begin, size_t end) { central.adopt(next, begin, end); },
      [this, bucket] { return finish_bucket(bucket); });
}

void Averaging::apply_due_steps(size_t bucket, const std::vector<const void*>& contributions,
                                const std::vector<std::shared_ptr<const DueStep>>& due) {
  const CentralModel& central = central_.front();
  begin_pass(
      bucket, 0, [&central, contributions, due](size_t begin, size_t end) { central.apply_due_steps(contributions, due, begin, end); },
      [this, bucket] { return finish_bucket(bucket); });
}

bool Averaging::finish_bucket(size_t bucket) {
  if (!central_.front().needs_whole_sum() || norms_measured_) --unmade_[bucket];
  if (--passes_left_ > 0) return false;
  if (central_.front().needs_whole_sum() && !norms_measured_) {
    begin_measuring_norms();
    return false;
  }
  finish_round();
  return true;
}

void Averaging::begin_measuring_norms() {
  const auto measure_norms = [this](size_t, size_t) {
    for (size_t device = 0; device < central_.size(); ++device) {
      const UsedStream used = streams_.use(device);
      central_[device].measure_norms();
    }
  };
  begin_pass(std::make_shared<Pass>(0, measure_norms, 0, 1, 1, [this] {
    begin_applying();
    return false;
  }));
}

void Averaging::begin_applying() {
  norms_measured_ = true;
  passes_left_ = buckets_.size() * central_.size();
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    for (size_t device = 0; device < central_.size(); ++device)
      begin_pass(
          bucket, device,
          [&central = central_[device], abandoned = contributions_ == 0](size_t begin, size_t end) {
            const void* const sum = central.sum();
            central.apply(abandoned ? std::span<const void* const>() : std::span(&sum, 1), 1, begin, end);
          },
          [this, bucket] { return finish_bucket(bucket); });
}

void Averaging::finish_round() {
  for (CentralModel& central : central_) central.end_averaging();
  if (has_streams()) {
    // Nothing but the last events is asked for; what earlier rounds keep goes as soon as it may.
    const auto is_done = [](const Queued& round) {
      return std::ranges::all_of(round.done, [](const auto& event) { return event->reached(); });
    };
    while (!queued_.empty() && is_done(queued_.front())) queued_.pop_front();
    Queued round{{}, std::move(kept_)};
    for (size_t device = 0; device < central_.size(); ++device) {
      const UsedStream used = streams_.use(device);
      round.done.push_back(backend(device).mark());
    }
    queued_.push_back(std::move(round));
  }
  kept_.clear();
}

void Averaging::begin_pass(size_t bucket, size_t device, SharedPass::Work work, std::function<bool()> then) {
  const auto& [begin, end] = buckets_[bucket];
  begin_pass(std::make_shared<Pass>(device, std::move(work), begin, end, central_[device].piece(), std::move(then)));
}

void Averaging::begin_pass(std::shared_ptr<Pass> pass) {
  if (passes_.empty()) passes_from_ = AveragingSpans::now();
  passes_.push_back(std::move(pass));
}

std::shared_ptr<Averaging::Pass> Averaging::next_pass() const {
  for (const auto& pass : passes_)
    if (pass->pieces.has_pieces()) return pass;
  return nullptr;
}

bool Averaging::work_on(Pass& pass) const {
  const UsedStream used = streams_.use(pass.device);
  return pass.pieces.help();
}

bool Averaging::finish(const Pass& pass) {
  const UsedStream used = streams_.use(pass.device);
  std::erase_if(passes_, [&](const auto& each) { return each.get() == &pass; });
  // On streams the passes are queued, and no thread waits to see when they run.
  if (passes_.empty() && !has_streams()) {
    const double now = AveragingSpans::now();
    pass_seconds_ += now - passes_from_;
    spans_.record({AveragingSpan::kRule, round_, passes_from_, now});
  }
  return pass.then();
}

void Averaging::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  passes_.clear();
}

void Averaging::follow(size_t device) const {
  if (!queued_.empty()) backend(device).queue_after(queued_.back().done[device]);
}

}  // namespace arbalest
