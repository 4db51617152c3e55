#include "averaging.h"

#include <algorithm>
#include <span>

#include "levels.h"

namespace arbalest {

Averaging::Averaging(Backend& backend, const GroupSpec& spec, std::vector<Bucket> buckets, const std::byte* initial_canonical,
                     std::mutex& mutex, std::condition_variable& changed, std::function<void()> whole)
    : backend_(backend),
      type_(spec.layout.type()),
      buckets_(std::move(buckets)),
      mutex_(mutex),
      changed_(changed),
      whole_(std::move(whole)),
      stream_(backend_.stream()) {
  for (int device = 0; device < spec.devices; ++device) central_.emplace_back(backend_, spec, initial_canonical, device == 0);
  if (spec.levels.empty()) return;
  for (int device = 0; device < spec.devices; ++device) sums_.emplace_back(backend_, spec.layout.bytes);
  auto levels = make_levels(backend_, spec);
  for (const auto& level : levels)
    if (level->size() > 1) between_devices_ = level.get();
  ascent_ = std::make_unique<Ascent>(
      backend_, std::move(levels), [this](const Passage& passage) { arrived_from_above(passage); },
      [this](std::exception_ptr failure) {
        const std::lock_guard lock(mutex_);
        failure_ = std::move(failure);
        changed_.notify_all();
      });
}

Averaging::~Averaging() {
  if (ascent_) ascent_->end();
  // Nothing may be at work in what is given back.
  const UsedStream used(backend_, stream_.get());
  try {
    backend_.synchronise();
  } catch (const Error&) {
    // The replicas' own streams tell it too.
  }
}

void Averaging::restart(const std::byte* canonical) {
  for (CentralModel& central : central_) central.restart(canonical);
}

void Averaging::restore(int64_t round, const Snapshot& snapshot) {
  for (CentralModel& central : central_) central.restore(round, snapshot);
}

void Averaging::set_present(int64_t round, const std::vector<int>& devices) {
  if (!between_devices_ || devices == present_) return;
  between_devices_->set_members(round, devices);
  present_ = devices;
}

void Averaging::begin(const RoundEnd& round, size_t present) {
  round_ = round.round;
  parts_.assign(buckets_.size(), {std::vector<Part>(central_.size()), present});
  carried_ = 0;
  left_ = buckets_.size() * central_.size();
  brought_ = 0;
  weighed_ = false;
  for (CentralModel& central : central_) central.begin_round(round);
}

void Averaging::meet(size_t bucket, size_t device, const std::vector<Contribution>& contributions) {
  const UsedStream used(backend_, stream_.get());
  std::vector<const void*> vectors;
  std::vector<std::shared_ptr<const DueStep>> due_steps;
  for (const auto& [vector, due, ready] : contributions) {
    backend_.wait(ready);
    kept_.push_back(vector);
    vectors.push_back(vector->data());
    if (!due) continue;
    kept_.push_back(due);
    due_steps.push_back(due);
  }
  const auto learners = static_cast<int64_t>(vectors.size());
  brought_ += learners;
  if (!due_steps.empty()) return apply(bucket, vectors, due_steps);
  if (!ascent_) return apply(bucket, vectors, learners);
  if (learners == 0) return summed(bucket, device, {});
  // The sum over one is where it lies.
  if (learners == 1) return summed(bucket, device, {static_cast<const std::byte*>(vectors.front()), 1});
  std::byte* const sum = sums_[device].data();
  begin_pass(
      bucket,
      [this, vectors, sum](size_t begin, size_t end) {
        backend_.average({type_, begin, end, nullptr, sum, vectors, 1, 0});
      },
      [this, bucket, device, sum, learners](Lock&) {
        summed(bucket, device, {sum, learners});
      });
}

void Averaging::summed(size_t bucket, size_t device, Part part) {
  if (part.learners > 0) part.ready = backend_.record();
  parts_[bucket].parts[device] = std::move(part);
  --parts_[bucket].missing;
  for (; carried_ < buckets_.size() && parts_[carried_].missing == 0; ++carried_)
    ascent_->carry({round_, carried_, buckets_[carried_], parts_[carried_].parts});
}

void Averaging::arrived_from_above(const Passage& passage) {
  Lock lock(mutex_);
  const Part& sum = passage.parts.front();
  {
    const UsedStream used(backend_, stream_.get());
    backend_.wait(sum.ready);
  }
  apply(passage.bucket, sum.learners > 0 ? std::vector<const void*>{sum.vector} : std::vector<const void*>{}, sum.learners);
  help(lock);
}

void Averaging::apply(size_t bucket, const std::vector<const void*>& contributions, int64_t learners) {
  for (CentralModel& central : central_) {
    SharedPass::Work work;
    if (central.needs_whole_sum())
      work = [&central, contributions, scale = 1.0 / static_cast<double>(std::max<int64_t>(learners, 1))](size_t begin, size_t end) {
        central.sum(contributions, scale, begin, end);
      };
    else
      work = [&central, contributions, count = static_cast<size_t>(learners)](size_t begin, size_t end) {
        central.apply(contributions, count, begin, end);
      };
    begin_pass(bucket, std::move(work), [this](Lock& lock) { applied(lock); });
  }
}

void Averaging::apply(size_t bucket, const std::vector<const void*>& contributions,
                      const std::vector<std::shared_ptr<const DueStep>>& due) {
  const CentralModel& central = central_.front();
  begin_pass(
      bucket, [&central, contributions, due](size_t begin, size_t end) { central.apply(contributions, due, begin, end); },
      [this](Lock& lock) { applied(lock); });
}

void Averaging::applied(Lock& lock) {
  if (--left_ > 0) return;
  if (!central_.front().needs_whole_sum() || weighed_) return finish();
  // Nobody touches the round meanwhile: all its passes are done.
  lock.unlock();
  for (CentralModel& central : central_) central.weigh();
  lock.lock();
  weighed_ = true;
  left_ = buckets_.size() * central_.size();
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    for (CentralModel& central : central_)
      begin_pass(
          bucket,
          [&central, abandoned = brought_ == 0](size_t begin, size_t end) {
            const void* const sum = central.sum();
            central.apply(abandoned ? std::span<const void* const>() : std::span(&sum, 1), 1, begin, end);
          },
          [this](Lock& held) { applied(held); });
}

void Averaging::finish() {
  for (CentralModel& central : central_) central.finish_round();
  if (stream_) {
    // Nothing but the last event is asked for; what earlier rounds keep goes as soon as it may.
    while (!queued_.empty() && queued_.front().done->reached()) queued_.pop_front();
    queued_.push_back({backend_.record(), std::move(kept_)});
  }
  kept_.clear();
  whole_();
}

void Averaging::begin_pass(size_t bucket, SharedPass::Work work, std::function<void(Lock&)> then) {
  const auto& [begin, end] = buckets_[bucket];
  passes_.push_back({std::make_shared<SharedPass>(begin, end, backend_.piece(), std::move(work)), std::move(then)});
  changed_.notify_all();
}

const Averaging::Pass* Averaging::pass_with_pieces() const {
  for (const Pass& pass : passes_)
    if (pass.work->has_pieces()) return &pass;
  return nullptr;
}

void Averaging::help(Lock& lock) {
  const UsedStream used(backend_, stream_.get());
  while (const Pass* const found = pass_with_pieces()) {
    const Pass pass = *found;
    lock.unlock();
    const bool last = pass.work->help();
    lock.lock();
    if (!last) continue;
    std::erase_if(passes_, [&](const Pass& each) { return each.work == pass.work; });
    pass.then(lock);
  }
}

void Averaging::follow() const {
  if (!queued_.empty()) backend_.wait(queued_.back().done);
}

}  // namespace arbalest
