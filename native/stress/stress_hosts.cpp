// Hosts of one process, each with the thread of its link: messages between all of them at once, sums of buckets over many rounds, ends that
// they agree on, hosts that go, whose loss the others must see, or after which they go on, unless one of these is silent, groups of learners
// over hosts, and measurements of links. Some links are sealed, and one host there sends wrong messages.
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness.h"
#include "learner.h"
#include "transport/forging_link.h"
#include "transport/host_messages.h"
#include "transport/hosts_level.h"
#include "transport/link_probe.h"
#include "transport/reduction_pipeline.h"
#include "transport/sealed_link.h"
#include "transport/threads_link.h"

namespace arbalest::stress {
namespace {

constexpr double kDeadline = 60, kPatience = 60;
// Of hosts of which one will be silent: some beats.
constexpr double kShortDeadline = 3;

struct Plan {
  std::string name;
  int hosts = 2;
  int messages = 0;
  int lost = -1;    // the host that goes in the middle
  int silent = -1;  // the host that is heard no more from then on
  bool shrinks = false, sealed = false;

  std::unique_ptr<Link> open(int rank) const {
    std::unique_ptr<Link> link = std::make_unique<ThreadsLink>(name, rank, hosts, shrinks);
    return sealed ? std::make_unique<SealedLink>(std::move(link), std::make_shared<Refusals>()) : std::move(link);
  }
};

// The same at the sender and at the receiver.
std::vector<std::byte> message_of(int from, int to, int number) {
  const size_t bytes = number % 5 == 0 ? 0 : static_cast<size_t>(number * 7919 + from * 31 + to) % 70'000;
  return std::vector<std::byte>(bytes, static_cast<std::byte>(number + from * 16 + to));
}

class Host {
 public:
  Host(const Plan& plan, int rank)
      : plan_(plan),
        rank_(rank),
        thread_([plan, rank] { return plan.open(rank); }, plan.silent >= 0 ? kShortDeadline : kDeadline),
        messages_(std::make_unique<HostMessages>(thread_)) {}

  void run() {
    try {
      thread_.wait_until_open();
      for (int number = 0; number < plan_.messages; ++number) {
        if (rank_ == plan_.lost && number == plan_.messages / 2) {
          if (plan_.silent >= 0) ThreadsLink::cut_off(plan_.name, plan_.silent);
          return;
        }
        exchange(number);
      }
      expect(plan_.lost < 0 || plan_.shrinks, "a host that went was not missed");
      if (const auto failure = thread_.failure()) std::rethrow_exception(failure);
      expect(plan_.lost < 0 || thread_.is_lost(plan_.lost), "a host that went is there");
      messages_.reset();
      thread_.end(kPatience);
    } catch (const Error& error) {
      const bool may_fail = plan_.lost >= 0 && (!plan_.shrinks || plan_.silent >= 0);
      expect(may_fail && error.code() == "HOST_LOST", error.what());
    }
  }

 private:
  void exchange(int number) {
    for (int to = 0; to < plan_.hosts; ++to)
      if (to != rank_) messages_->send(to, message_of(rank_, to, number));
    for (int from = 0; from < plan_.hosts; ++from)
      if (from != rank_) check(from, number);
  }

  // What a host has sent before it went arrives.
  void check(int from, int number) {
    try {
      expect(take(from) == message_of(from, rank_, number), "a message is another than was sent");
    } catch (const Error& error) {
      if (!plan_.shrinks || from != plan_.lost || error.code() != "HOST_LOST") throw;
    }
  }

  std::vector<std::byte> take(int from) {
    while (true) {
      if (auto message = messages_->take(from)) return *message;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  const Plan plan_;
  const int rank_;
  HostsThread thread_;
  std::unique_ptr<HostMessages> messages_;
};

// In a thread of a trial.
template <class Work> void attempt(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    expect(false, error.what());
  }
}

// All hosts in one rack, or cut into several.
Racks racks_of(size_t hosts, Chance& chance) {
  Racks racks(1);
  const bool are_several = chance.one_in(2);
  for (size_t host = 0; host < hosts; ++host) {
    if (are_several && host > 0 && chance.one_in(2)) racks.emplace_back();
    racks.back().push_back(static_cast<int>(host));
  }
  return racks;
}

// Of any lengths, and of any hosts of each rack.
std::vector<ExchangeChunk> chunks_of(std::span<const Bucket> buckets, const Racks& racks, Chance& chance) {
  const auto one_of = [&](const std::vector<int>& rack) {
    return rack[static_cast<size_t>(chance.between(0, static_cast<int64_t>(rack.size()) - 1))];
  };
  std::vector<ExchangeChunk> chunks;
  for (const Bucket& bucket : buckets)
    for (size_t begin = bucket.begin; begin < bucket.end; begin = chunks.back().range.end) {
      const size_t end = std::min(begin + static_cast<size_t>(chance.one_of<int64_t>({chance.between(1, 40), 8192})), bucket.end);
      chunks.push_back({{begin, end}, one_of(racks.back())});
      for (size_t rack = 0; rack + 1 < racks.size(); ++rack) chunks.back().relays.push_back(one_of(racks[rack]));
    }
  return chunks;
}

// Sums over hosts, by the pipeline of a group: what each host brings to each round is made up in advance.
class Sums {
 public:
  Sums(Backend& backend, Chance& chance, std::string name)
      : backend_(backend), name_(std::move(name)), hosts_(static_cast<size_t>(chance.between(2, 4))), rounds_(chance.between(1, 12)) {
    if (chance.one_in(2)) {
      lost_ = static_cast<size_t>(chance.between(0, static_cast<int64_t>(hosts_) - 1));
      lost_in_ = chance.between(0, rounds_ - 1);
      lost_after_ = std::chrono::microseconds(chance.between(0, 2000));
    }
    for (int64_t left = chance.between(1, 6); left > 0; --left)
      buckets_.push_back(
          {elements(), elements() + static_cast<size_t>(chance.one_of<int64_t>({chance.between(1, 40), chance.between(1, 20'000)}))});
    racks_ = racks_of(hosts_, chance);
    chunks_ = chunks_of(buckets_, racks_, chance);
    by_arrival_ = racks_.size() == 1 && chance.one_in(2);
    // A job that shares its hub ends with the loss of a host.
    if (lost_ >= hosts_ && chance.one_in(2))
      for (size_t host = 0; host < hosts_; ++host) refusals_.push_back(std::make_shared<Refusals>());
    for (int64_t round = 0; round < rounds_; ++round)
      for (size_t host = 0; host < hosts_; ++host) {
        Part& part = parts_.emplace_back();
        part.learners = chance.one_in(4) ? 0 : chance.between(1, 3);
        part.rest = std::chrono::microseconds(chance.one_in(3) ? chance.between(0, 3000) : 0);
        part.vector = std::make_unique<Memory>(backend_, elements() * sizeof(float));
        for (size_t i = 0; i < elements(); ++i)
          reinterpret_cast<float*>(part.vector->data())[i] = static_cast<float>(chance.between(-1'000'000, 1'000'000)) / 997.0F;
      }
  }

  void run() {
    std::vector<std::thread> threads;
    for (size_t host = 0; host < hosts_; ++host) threads.emplace_back([this, host] { attempt([&] { run(host); }); });
    for (std::thread& thread : threads) thread.join();
    if (refusals_.empty()) return;
    const Refusals& refused = *refusals_.back();
    expect(refused.nonces > 0, "no forged message was refused");
    expect(refused.nonces + refused.lengths + refused.keys <= kForged, "messages of a host of this link were refused");
  }

 private:
  struct Part {
    std::unique_ptr<Memory> vector;
    int64_t learners = 0;
    std::chrono::microseconds rest{0};  // before each of its buckets
  };

  size_t elements() const { return buckets_.empty() ? 0 : buckets_.back().end; }
  const Part& part(int64_t round, size_t host) const { return parts_[static_cast<size_t>(round) * hosts_ + host]; }

  // Where the link is sealed, the first host sends the last one wrong messages as well.
  std::unique_ptr<Link> open(size_t host) const {
    std::unique_ptr<Link> link = std::make_unique<ThreadsLink>(name_, static_cast<int>(host), static_cast<int>(hosts_), true);
    if (refusals_.empty()) return link;
    if (host == 0) link = std::make_unique<ForgingLink>(std::move(link), kForged, 3, false);
    return std::make_unique<SealedLink>(std::move(link), refusals_[host]);
  }

  void run(size_t host) {
    const auto link = std::make_shared<HostsThread>([&] { return open(host); }, kDeadline);
    link->wait_until_open();
    opened_.arrive_and_wait();
    std::vector<std::unique_ptr<Level>> levels;
    levels.push_back(
        std::make_unique<HostsLevel>(backend_, link, link->next_group(), Type::f32, buckets_, chunks_, nullptr, racks_, by_arrival_));
    std::mutex mutex;
    std::condition_variable changed;
    size_t reduced = 0;
    AveragingSpans spans;
    ReductionPipeline pipeline(
        std::move(levels), spans,
        [&](const BucketReduction& reduction) {
          check(host, reduction);
          const std::lock_guard lock(mutex);
          ++reduced;
          changed.notify_all();
        },
        [&](std::exception_ptr failure) {
          if (host != lost_) attempt([&] { std::rethrow_exception(failure); });
        });
    for (int64_t round = 0; round < rounds_; ++round) {
      const Part& own = part(round, host);
      for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
        std::this_thread::sleep_for(own.rest);
        pipeline.start({round, bucket, buckets_[bucket], {own.learners > 0 ? PartialSum{own.vector->data(), own.learners} : PartialSum{}}});
      }
      if (host == lost_ && round == lost_in_) {
        std::this_thread::sleep_for(lost_after_);
        link->abort(1);
        return;
      }
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return reduced == static_cast<size_t>(round + 1) * buckets_.size(); });
    }
    pipeline.end();
    link->end(kPatience);
  }

  // Equal to the sum of a level that reads the parts of all hosts in place, bit for bit; from some round on without the lost host, on all
  // others alike.
  void check(size_t host, const BucketReduction& reduction) {
    const PartialSum& found = reduction.parts.front();
    expect(reduction.parts.size() == 1, "a sum has several parts");
    const bool may_lack = lost_ < hosts_ && reduction.round >= lost_in_;
    const bool is_whole = is_sum(found, reduction, hosts_);
    expect(is_whole || (may_lack && is_sum(found, reduction, lost_)), "a sum over hosts has other bits than a sum in place");
    if (host == lost_ || !may_lack || part(reduction.round, lost_).learners == 0) return;
    const std::lock_guard lock(mutex_);
    const auto [at, is_first] = whole_.emplace(std::pair(reduction.round, reduction.bucket), is_whole);
    expect(at->second == is_whole, "one host has the sum with the part of the lost one, another has that without it");
  }

  bool is_sum(const PartialSum& found, const BucketReduction& reduction, size_t without) const {
    const auto [begin, end] = reduction.range;
    const Memory plain(backend_, elements() * sizeof(float));
    int64_t learners = 0;
    // What one rack sends the next is rounded.
    for (const std::vector<int>& rack : racks_) {
      std::vector<const void*> summands;
      if (learners > 0) summands.push_back(plain.data());
      for (const int rank : rack) {
        const auto host = static_cast<size_t>(rank);
        const Part& each = part(reduction.round, host);
        if (host == without || each.learners == 0) continue;
        learners += each.learners;
        summands.push_back(each.vector->data());
      }
      if (!summands.empty()) backend_.average({Type::f32, begin, end, nullptr, plain.data(), summands, 1, 0});
    }
    if (found.learners != learners) return false;
    if (learners == 0) return !found.vector;
    if (by_arrival_) return is_near(plain, found, reduction.range);
    return std::memcmp(plain.data() + begin * sizeof(float), found.vector + begin * sizeof(float), (end - begin) * sizeof(float)) == 0;
  }

  // Of at most four summands below 1004, in any order.
  static bool is_near(const Memory& plain, const PartialSum& found, const Bucket& range) {
    const auto* const expected = reinterpret_cast<const float*>(plain.data());
    const auto* const sum = reinterpret_cast<const float*>(found.vector);
    for (size_t i = range.begin; i < range.end; ++i)
      if (!(std::abs(sum[i] - expected[i]) <= 2e-3F)) return false;
    return true;
  }

  static constexpr int kForged = 300;

  Backend& backend_;
  const std::string name_;
  const size_t hosts_;
  std::latch opened_{static_cast<std::ptrdiff_t>(hosts_)};  // all are there before one of them goes
  const int64_t rounds_;
  bool by_arrival_ = false;
  std::vector<std::shared_ptr<Refusals>> refusals_;  // by host, where the link is sealed
  std::vector<Bucket> buckets_;
  Racks racks_;
  std::vector<ExchangeChunk> chunks_;
  std::vector<Part> parts_;  // by round, then by host
  size_t lost_ = SIZE_MAX;   // the host that goes, after it has brought its part to a round
  int64_t lost_in_ = 0;
  std::chrono::microseconds lost_after_{0};
  std::mutex mutex_;
  std::map<std::pair<int64_t, size_t>, bool> whole_;  // whether the sum of a round's bucket has the part of the lost host
};

// A group of every host, whose owners let learners join, kill them and pause the group, each by itself; all hosts must see the same rounds.
class Groups {
 public:
  Groups(Backend& backend, Chance& chance, std::string name)
      : backend_(backend), name_(std::move(name)), hosts_(static_cast<size_t>(chance.between(2, 3))), centrals_(hosts_) {
    spec_.layout = layout_of(chance);
    spec_.batch = 4;
    spec_.synchronous = synchronous_rule(chance);
    // Steps of learners of another host are in no snapshot.
    if (spec_.synchronous->slack > 0) spec_.synchronous->read_my_writes = false;
    spec_.synchronous->lockstep = false;
    spec_.optimiser.momentum = chance.one_of({0.0, 0.9});
    racks_ = racks_of(hosts_, chance);
    chunks_ = chunks_of(level_buckets(*spec_.synchronous, spec_.layout), racks_, chance);
    end_ = spec_.synchronous->period * chance.between(5, 30);
    for (size_t host = 0; host < hosts_; ++host) seeds_.push_back(static_cast<uint64_t>(chance.between(0, 1'000'000)));
    if (chance.one_in(2)) {
      lost_ = static_cast<size_t>(chance.between(0, static_cast<int64_t>(hosts_) - 1));
      lost_in_ = chance.between(0, end_ / spec_.synchronous->period);
    }
    // They do not go on without a lost one.
    owners_apply_ = lost_ >= hosts_ && chance.one_in(2);
  }

  void run() {
    std::vector<std::thread> threads;
    for (size_t host = 0; host < hosts_; ++host) threads.emplace_back([this, host] { attempt([&] { run(host); }); });
    for (std::thread& thread : threads) thread.join();
    const std::vector<float>& first = centrals_[lost_ == 0 ? 1 : 0];
    for (size_t host = 0; host < hosts_; ++host)
      expect(host == lost_ || centrals_[host] == first, "two hosts have different central models");
  }

 private:
  void run(size_t host) {
    Chance chance(seeds_[host]);
    const auto link = std::make_shared<HostsThread>(
        [&] { return std::make_unique<ThreadsLink>(name_, static_cast<int>(host), static_cast<int>(hosts_), true); }, kDeadline);
    link->wait_until_open();
    opened_.arrive_and_wait();
    GroupSpec spec = spec_;
    spec.levels = {{LevelSpec::Kind::hosts, nullptr, link, link->next_group(), chunks_, owners_apply_, racks_}};
    const std::vector<float> initial(spec.layout.elements, 1.0F);
    {
      const std::unique_ptr<Group> group = make_group(backend_, spec, reinterpret_cast<const std::byte*>(initial.data()));
      if (!train(*group, chance, host == lost_ ? link.get() : nullptr)) return;
      centrals_[host].resize(spec.layout.elements);
      group->read_central(reinterpret_cast<std::byte*>(centrals_[host].data()));
    }
    link->end(kPatience);
  }

  // False for a host that has gone: `going` is its link.
  bool train(Group& group, Chance& chance, HostsThread* going) const {
    const float rate = 0.1F;
    group.set_rates(0, {&rate, 1});
    group.set_end(end_);
    std::deque<std::unique_ptr<Learner>> learners;
    int joined = 0;
    const auto join = [&] {
      // A rest may bring forward the round that join() returns.
      const int64_t from = group.status().round;
      group.join(joined);
      learners.push_back(std::make_unique<Learner>(group, joined++, 0, spec_.optimiser, from));
    };
    for (int64_t left = chance.between(0, 2); left > 0; --left) join();
    while (true) {
      if (going && group.status().round >= lost_in_) {
        going->abort(1);
        group.stop();
        return false;
      }
      if (rests(group)) {
        if (group.status().iterations >= end_) break;
        group.set_pause(kNever);
      }
      const std::vector<int> members = group.status().members;
      switch (chance.between(0, 9)) {
        case 0:
          if (members.size() < 3) join();
          break;
        case 1:
          for (const auto& learner : learners)
            if (!members.empty() && learner->id() == members.front()) learner->kill();
          break;
        case 2: group.set_pause(group.status().round + chance.between(0, 4)); break;
        case 3: group.losses(0); break;
        default: std::this_thread::sleep_for(std::chrono::microseconds(chance.between(0, 3000)));
      }
      std::erase_if(learners, [](const auto& learner) { return learner->ended(); });
    }
    expect(group.status().iterations == end_, "the group has made another number of iterations than it was to make");
    expect(group.losses(0).size() == static_cast<size_t>(end_), "losses are missing");
    return true;
  }

  bool rests(Group& group) const {
    try {
      Snapshot snapshot(backend_, spec_.layout);
      group.capture(snapshot);
      return true;
    } catch (const Error& error) {
      expect(error.code() == "INVALID_STATE", error.what());
      return false;
    }
  }

  Backend& backend_;
  const std::string name_;
  const size_t hosts_;
  std::latch opened_{static_cast<std::ptrdiff_t>(hosts_)};  // all are there before one of them goes
  GroupSpec spec_;
  Racks racks_;
  std::vector<ExchangeChunk> chunks_;
  bool owners_apply_ = false;
  int64_t end_ = 0;
  size_t lost_ = SIZE_MAX;  // the host that goes, and the round
  int64_t lost_in_ = 0;
  std::vector<uint64_t> seeds_;
  std::vector<std::vector<float>> centrals_;  // by host
};

void exchange_messages(Chance& chance, const std::string& name) {
  Plan plan;
  plan.name = name;
  plan.hosts = static_cast<int>(chance.between(2, 4));
  plan.messages = static_cast<int>(chance.between(1, 60));
  plan.shrinks = chance.one_in(2);
  plan.sealed = !plan.shrinks && chance.one_in(2);
  if (chance.one_in(3)) plan.lost = static_cast<int>(chance.between(0, plan.hosts - 1));
  // Seldom: it takes the others a whole deadline.
  if (plan.lost >= 0 && plan.shrinks && plan.hosts > 2 && chance.one_in(50)) plan.silent = (plan.lost + 1) % plan.hosts;
  // All are there before one of them goes.
  std::vector<std::unique_ptr<Host>> hosts;
  for (int rank = 0; rank < plan.hosts; ++rank) hosts.push_back(std::make_unique<Host>(plan, rank));
  std::vector<std::thread> threads;
  for (std::unique_ptr<Host>& host : hosts)
    threads.emplace_back([&host] {
      host->run();
      host.reset();
    });
  for (std::thread& thread : threads) thread.join();
}

// All hosts measure the links between them and have equal figures, unless one of them gives the measurement up, or goes.
void measure_links(Chance& chance, const std::string& name) {
  Plan plan;
  plan.name = name;
  plan.hosts = static_cast<int>(chance.between(2, 4));
  plan.shrinks = chance.one_in(2);
  if (chance.one_in(2)) plan.lost = static_cast<int>(chance.between(0, plan.hosts - 1));
  const bool goes = chance.one_in(2);
  const std::chrono::microseconds lost_after(chance.between(0, 100'000));
  std::latch opened(plan.hosts);
  std::mutex mutex;
  std::vector<LinkFigures> all;
  const auto measure = [&](int rank) {
    const auto link = std::make_shared<HostsThread>([&plan, rank] { return plan.open(rank); }, kDeadline);
    link->wait_until_open();
    opened.arrive_and_wait();
    {
      const LinkProbe probe(link, link->next_group());
      if (rank == plan.lost) {
        std::this_thread::sleep_for(lost_after);
        if (goes) link->abort(1);
        return;
      }
      std::optional<LinkFigures> figures;
      while (!(figures = probe.figures())) std::this_thread::sleep_for(std::chrono::microseconds(100));
      const std::lock_guard lock(mutex);
      all.push_back(*figures);
    }
    if (plan.lost < 0) link->end(kPatience);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < plan.hosts; ++rank)
    threads.emplace_back([&, rank] {
      try {
        measure(rank);
      } catch (const Error& error) {
        expect(plan.lost >= 0 && error.code() == "HOST_LOST", error.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
  expect(plan.lost >= 0 || all.size() == static_cast<size_t>(plan.hosts), "a host has no figures");
  for (const LinkFigures& each : all) expect(each.latency == all.front().latency, "two hosts have different figures");
}

}  // namespace

void run(Backend& backend, Chance& chance) {
  static std::atomic<int> links{0};
  const std::string name = "stress " + std::to_string(links++);
  if (backend.capabilities().streams || chance.one_in(3))
    return chance.one_in(5) ? measure_links(chance, name) : exchange_messages(chance, name);
  if (chance.one_in(2)) return Sums(backend, chance, name).run();
  Groups(backend, chance, name).run();
}

}  // namespace arbalest::stress
