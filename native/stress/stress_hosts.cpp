// Hosts of one process, each with the thread of its link: messages between all of them at once, ends that they agree on, and hosts that go,
// whose loss the others must see.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness.h"
#include "transport/host_messages.h"
#include "transport/threads_link.h"

namespace arbalest::stress {
namespace {

constexpr double kDeadline = 60, kPatience = 60;

struct Plan {
  std::string name;
  int hosts = 2;
  int messages = 0;
  int lost = -1;  // the host that goes in the middle
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
        thread_([plan, rank] { return std::make_unique<ThreadsLink>(plan.name, rank, plan.hosts); }, kDeadline),
        messages_(std::make_unique<HostMessages>(thread_)) {}

  void run() {
    try {
      for (int number = 0; number < plan_.messages; ++number) {
        if (rank_ == plan_.lost && number == plan_.messages / 2) return;
        exchange(number);
      }
      expect(plan_.lost < 0, "a host that went was not missed");
      messages_.reset();
      thread_.end(kPatience);
    } catch (const Error& error) {
      expect(plan_.lost >= 0 && error.code() == "HOST_LOST", error.what());
    }
  }

 private:
  void exchange(int number) {
    for (int to = 0; to < plan_.hosts; ++to)
      if (to != rank_) messages_->send(to, message_of(rank_, to, number));
    for (int from = 0; from < plan_.hosts; ++from)
      if (from != rank_) expect(take(from) == message_of(from, rank_, number), "a message is another than was sent");
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

}  // namespace

void run(Backend&, Chance& chance) {
  static std::atomic<int> links{0};
  Plan plan;
  plan.name = "stress " + std::to_string(links++);
  plan.hosts = static_cast<int>(chance.between(2, 4));
  plan.messages = static_cast<int>(chance.between(1, 60));
  if (chance.one_in(3)) plan.lost = static_cast<int>(chance.between(0, plan.hosts - 1));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < plan.hosts; ++rank) threads.emplace_back([&plan, rank] { Host(plan, rank).run(); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace arbalest::stress
