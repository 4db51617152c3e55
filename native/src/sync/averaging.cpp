#include "sync/averaging.h"

#include <algorithm>
#include <span>

#include "transport/levels.h"

namespace arbalest {

Averaging::Averaging(Backend& backend, const GroupSpec& spec, std::vector<Bucket> buckets, const std::byte* initial_canonical,
                     std::mutex& mutex, std::condition_variable& changed, std::function<void()> whole)
    : type_(spec.layout.type()),
      buckets_(std::move(buckets)),
      mutex_(mutex),
      changed_(changed),
      whole_(std::move(whole)),
      streams_(backend, spec.devices) {
  for (size_t device = 0; device < streams_.devices(); ++device)
    central_.emplace_back(streams_.backend(device), spec, initial_canonical, device == 0);
  if (spec.levels.empty()) return;
  for (size_t device = 0; device < streams_.devices(); ++device) sums_.emplace_back(streams_.backend(device), spec.layout.bytes);
  auto levels = make_levels(backend, spec);
  for (const auto& level : levels)
    if (level->size() > 1) between_devices_ = level.get();
  ascent_ = std::make_unique<Ascent>(
      std::move(levels), spans_, [this](const Passage& passage) { arrived_from_above(passage); },
      [this](std::exception_ptr failure) {
        const std::lock_guard lock(mutex_);
        fail(std::move(failure));
      });
}

Averaging::~Averaging() {
  if (ascent_) ascent_->end();
  // Nothing may be at work in what is given back.
  try {
    streams_.synchronise();
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
  for (size_t device = 0; device < central_.size(); ++device) {
    const UsedStream used = streams_.use(device);
    central_[device].begin_round(round);
  }
}

void Averaging::meet(size_t bucket, size_t device, const std::vector<Contribution>& contributions) {
  const UsedStream used = streams_.use(device);
  std::vector<const void*> vectors;
  std::vector<std::shared_ptr<const DueStep>> due_steps;
  for (const auto& [vector, due, ready] : contributions) {
    backend(device).wait(ready);
    kept_.push_back(vector);
    vectors.push_back(vector->data());
    if (!due) continue;
    kept_.push_back(due);
    due_steps.push_back(due);
  }
  const auto learners = static_cast<int64_t>(vectors.size());
  brought_ += learners;
  if (!due_steps.empty()) return apply(bucket, vectors, due_steps);
  if (!ascent_) return apply(bucket, device, vectors, learners);
  if (learners == 0) return summed(bucket, device, {});
  // The sum over one is where it lies.
  if (learners == 1) return summed(bucket, device, {static_cast<const std::byte*>(vectors.front()), 1});
  std::byte* const sum = sums_[device].data();
  begin_pass(
      bucket, device,
      [this, device, vectors, sum](size_t begin, size_t end) {
        backend(device).average({type_, begin, end, nullptr, sum, vectors, 1, 0});
      },
      [this, bucket, device, sum, learners](Lock&) {
        summed(bucket, device, {sum, learners});
      });
}

void Averaging::summed(size_t bucket, size_t device, Part part) {
  part.ready = backend(device).record();
  parts_[bucket].parts[device] = std::move(part);
  --parts_[bucket].missing;
  for (; carried_ < buckets_.size() && parts_[carried_].missing == 0; ++carried_) {
    follow_absent(parts_[carried_].parts);
    ascent_->carry({round_, carried_, buckets_[carried_], parts_[carried_].parts});
  }
}

void Averaging::follow_absent(std::vector<Part>& parts) const {
  for (size_t device = 0; device < parts.size() && has_streams(); ++device) {
    if (parts[device].ready) continue;
    const UsedStream used = streams_.use(device);
    parts[device].ready = backend(device).record();
  }
}

void Averaging::arrived_from_above(const Passage& passage) {
  Lock lock(mutex_);
  for (size_t device = 0; device < central_.size(); ++device) {
    // In one memory there is one for all.
    const Part& sum = passage.parts[std::min(device, passage.parts.size() - 1)];
    const UsedStream used = streams_.use(device);
    backend(device).wait(sum.ready);
    apply(passage.bucket, device, sum.learners > 0 ? std::vector<const void*>{sum.vector} : std::vector<const void*>{}, sum.learners);
  }
  help(lock);
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
  begin_pass(bucket, device, std::move(work), [this](Lock& lock) { applied(lock); });
}

void Averaging::apply(size_t bucket, const std::vector<const void*>& contributions,
                      const std::vector<std::shared_ptr<const DueStep>>& due) {
  const CentralModel& central = central_.front();
  begin_pass(
      bucket, 0, [&central, contributions, due](size_t begin, size_t end) { central.apply(contributions, due, begin, end); },
      [this](Lock& lock) { applied(lock); });
}

void Averaging::applied(Lock& lock) {
  if (--left_ > 0) return;
  if (!central_.front().needs_whole_sum() || weighed_) return finish();
  // Nobody touches the round meanwhile: all its passes are done.
  lock.unlock();
  for (size_t device = 0; device < central_.size(); ++device) {
    const UsedStream used = streams_.use(device);
    central_[device].weigh();
  }
  lock.lock();
  weighed_ = true;
  left_ = buckets_.size() * central_.size();
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    for (size_t device = 0; device < central_.size(); ++device)
      begin_pass(
          bucket, device,
          [&central = central_[device], abandoned = brought_ == 0](size_t begin, size_t end) {
            const void* const sum = central.sum();
            central.apply(abandoned ? std::span<const void* const>() : std::span(&sum, 1), 1, begin, end);
          },
          [this](Lock& held) { applied(held); });
}

void Averaging::finish() {
  for (CentralModel& central : central_) central.finish_round();
  if (has_streams()) {
    // Nothing but the last events is asked for; what earlier rounds keep goes as soon as it may.
    const auto is_done = [](const Queued& round) {
      return std::ranges::all_of(round.done, [](const auto& event) { return event->reached(); });
    };
    while (!queued_.empty() && is_done(queued_.front())) queued_.pop_front();
    Queued round{{}, std::move(kept_)};
    for (size_t device = 0; device < central_.size(); ++device) {
      const UsedStream used = streams_.use(device);
      round.done.push_back(backend(device).record());
    }
    queued_.push_back(std::move(round));
  }
  kept_.clear();
  whole_();
}

void Averaging::begin_pass(size_t bucket, size_t device, SharedPass::Work work, std::function<void(Lock&)> then) {
  const auto& [begin, end] = buckets_[bucket];
  if (passes_.empty()) passes_from_ = LevelSpans::now();
  passes_.push_back({device, std::make_shared<SharedPass>(begin, end, backend(device).piece(), std::move(work)), std::move(then)});
  changed_.notify_all();
}

const Averaging::Pass* Averaging::pass_with_pieces() const {
  for (const Pass& pass : passes_)
    if (pass.work->has_pieces()) return &pass;
  return nullptr;
}

void Averaging::help(Lock& lock) {
  try {
    while (const Pass* const found = pass_with_pieces()) {
      const Pass pass = *found;
      const UsedStream used = streams_.use(pass.device);
      lock.unlock();
      const bool last = pass.work->help();
      lock.lock();
      if (!last) continue;
      std::erase_if(passes_, [&](const Pass& each) { return each.work == pass.work; });
      // On streams it is queued, and nobody waits to see when it runs.
      if (passes_.empty() && !has_streams()) spans_.record({LevelSpan::kRule, round_, passes_from_, LevelSpans::now()});
      pass.then(lock);
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    fail(std::current_exception());
  }
}

void Averaging::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  passes_.clear();
  changed_.notify_all();
}

void Averaging::follow(size_t device) const {
  if (!queued_.empty()) backend(device).wait(queued_.back().done[device]);
}

}  // namespace arbalest
