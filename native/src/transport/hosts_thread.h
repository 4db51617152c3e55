// The thread that makes every call of a link. Its clients, such as the levels and the messages of groups, queue their transfers to it, and
// are told when these are done.
//
// It also watches the other hosts: each sends a beat every second, whatever its learners and its JavaScript do, so that a host is lost by
// silence alone and never by slowness. After a loss, or any other fault of the link, every transfer is given up and failure() tells why.
//
// Where the link itself notices the loss and can shrink, the hosts that are left go on instead (hosts_thread_recovery.cpp): every transfer
// is given up too, the clients of all hosts tell each other what they have (Recovery), and each goes on from there. Hosts keep their ranks;
// that of a lost one is not used again.
//
// An MPI library works in its calls alone, so the thread polls: at once after something has moved, then at pauses that grow from 50 us to
// 1 ms while something is awaited, and faster to 4 ms while receives are only foreseen. A poll takes a core from a learner for a moment, so
// clients tell what they wait for. Without urgent messages and data under way it looks for beats and messages every 10 ms.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "core/condition_variable.h"
#include "transport/link.h"

namespace arbalest {

class HostsThread {
 public:
  // Called in the hosts' thread when a transfer is done. It is short, and does not throw; it may start transfers.
  using Done = std::function<void()>;
  using Bytes = std::vector<std::byte>;

  // How a client goes on after the loss of a host. Both are called in the hosts' thread, are short, and throw nothing but a fault of the
  // program. Before state() the thread gives up all transfers of the client. Until go_on() the client starts no others.
  struct Recovery {
    uint64_t key;                                            // the same on all hosts, and of no other client of this one
    std::function<Bytes()> state;                            // may be called again before go_on(), if a further host is lost
    std::function<void(const std::map<int, Bytes>&)> go_on;  // with the states of the hosts that are left, by rank, this one's among them
  };

  // Returns at once. `open`, which waits for the other hosts, is called in the new thread. A host that is silent for `deadline` seconds is
  // lost.
  HostsThread(const std::function<std::unique_ptr<Link>()>& open, double deadline);
  // Without end() the other hosts lose this one. A thread whose `open` has not returned is left to itself: MPI cannot be called back from
  // its wait for a host that never comes.
  ~HostsThread();
  HostsThread(const HostsThread&) = delete;
  HostsThread& operator=(const HostsThread&) = delete;

  // Groups are numbered from 1 by the order in which the processes make them, which is the same in all. Groups of different numbers have
  // different tags, two in each channel but control's.
  int next_group() { return ++groups_; }
  static int tag_of_group(int number) { return 2 * (number % (Link::kMostTag / 2)); }

  static uint64_t key_of(Channel channel, int tag) { return (static_cast<uint64_t>(channel) << 32) | static_cast<uint64_t>(tag); }

  // Whether the hosts have met; if they never will, failure() tells why.
  bool is_open() const;
  // Throws the failure.
  void wait_until_open() const;
  // Once it is open:
  int rank() const { return rank_; }
  int size() const { return size_; }
  // The others that are not lost, beginning with the one after this: no two hosts begin with the same.
  std::vector<int> others() const;
  bool is_lost(int rank) const;
  // HOST_LOST, with the reason; null for a host that is there.
  std::exception_ptr loss_of(int rank) const;

  // They return at once; any thread may call them. What goes to a lost host, or is to come from it, is dropped. `client` stands for those
  // transfers that are given up together. Its memory is read or written until `done` is called, or give_up() returns.
  void send(const void* client, Channel channel, int to, int tag, std::span<const std::byte> bytes, Done done);
  void receive(const void* client, Channel channel, int from, int tag, std::span<std::byte> bytes, Done done);
  // A receive before anybody waits for its message: it is awaited while await(client, true) holds.
  void foresee(const void* client, Channel channel, int from, int tag, std::span<std::byte> bytes, Done done);
  void await(const void* client, bool awaits);
  // When it returns, nothing of the client is under way and none of its `done` will be called. Receives are given up. What is being sent
  // gets a few seconds to arrive; after that the link has failed, since the others would wait for ever. Not to be called by a `done`.
  void give_up(const void* client) noexcept;

  // `changed` is called in the hosts' thread when the link opens, loses a host, fails or ends, until give_up(client): the client looks by
  // itself whether it has done so before. It is short, and does not throw.
  void on_change(const void* client, Done changed, Recovery recovery);
  // The reason for which the link cannot be used any more; null while it can. HOST_LOST names the host.
  std::exception_ptr failure() const;
  // The end that all hosts agree on: the link ends once each of them has called it. What is under way then is given up. Returns at once.
  void end();
  // Whether that is done. Throws the failure.
  bool has_ended() const;
  // Ends the link and waits for that. Throws HOST_LOST after so many seconds.
  void end(double seconds);
  // Ends the processes of all hosts, this one included (Link::abort). Does nothing where the link has failed or has ended.
  void abort(int code);

 private:
  static constexpr auto kShortestPause = std::chrono::microseconds(50);
  // Polls without a pause after something has moved: a message seldom comes alone.
  static constexpr int kEagerPolls = 20;

  enum class Urgency : uint8_t { none, foreseen, awaited };
  struct Order {
    const void* client = nullptr;
    bool sends = false;
    Channel channel = Channel::control;
    int rank = 0, tag = 0;
    std::span<std::byte> bytes;
    Done done;
    bool is_foreseen = false;
  };
  struct Listener {
    const void* client;
    Done changed;
    Recovery recovery;
  };
  struct UnderWay {
    const void* client;
    bool sends;
    Urgency urgency;
    bool given_up;
    Done done;  // kept until the transfer is over: it may hold what is being sent
  };
  // What the thread knows of another host.
  struct Peer {
    double silent = 0;  // seconds
    std::byte beat{};
    bool ends = false;
  };
  // The states of the hosts that are left, as they go from one to the other.
  struct States {
    Bytes own;
    uint64_t own_length = 0;
    std::map<int, uint64_t> lengths;  // of those of the others, by rank
    std::map<int, Bytes> others;
  };
  // A client whose receives have been cancelled, and which waits for what is being sent.
  struct Leaving {
    const void* client;
    Clock::time_point latest;
  };

  // What outlives this object while `open` waits.
  struct Opening {
    std::mutex mutex;
    bool is_over = false, is_left = false;
  };

  void work(const std::function<std::unique_ptr<Link>()>& open, const std::shared_ptr<Opening>& opening);
  void join(std::unique_ptr<Link> link);
  void tell_change();
  void order(Order order);
  // Until all hosts end.
  void serve();
  // What the link is asked for. Where it tells of a loss, recover() is due.
  template <class Call> void ask_link(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      if (error.code() != "HOST_LOST") throw;
      loss_ = error.what();
    }
  }
  // After a loss; throws it where the link cannot shrink.
  void recover();
  void take_survivors(const std::vector<int>& former, const std::string& reason);
  // The states of these clients, and of those of all hosts, by key. Nothing if a further host is lost. Throws HOST_LOST where one is
  // silent.
  Bytes states_of(const std::vector<Listener>& clients);
  std::optional<std::map<uint64_t, std::map<int, Bytes>>> all_states(Bytes own);
  // Whether they are done within the deadline.
  bool wait_for(std::vector<Link::Transfer> transfers);
  std::vector<Listener> listeners() const;
  void sleep();
  void take_calls();
  void start(Order order);
  // True where something has arrived or has been sent.
  bool poll();
  void watch(double seconds);
  void beat();
  void expect_beat(int rank);
  void take_beat(int rank);
  bool all_end() const;
  void cancel_receives(const void* client);
  void let_go();
  bool has_transfers(const void* client) const;
  void end_link();
  // Nothing is under way any more, and nothing will be.
  void close(std::exception_ptr failure) noexcept;

  const double deadline_;
  const std::shared_ptr<Opening> opening_ = std::make_shared<Opening>();
  std::atomic<int> groups_{0};
  std::unique_ptr<Link> link_;
  int rank_ = 0, size_ = 1;  // as the link was opened

  mutable std::mutex mutex_;
  std::condition_variable called_;
  mutable std::condition_variable answered_;
  std::vector<Order> orders_;
  std::map<const void*, Listener> on_change_;
  std::map<int, std::string> lost_;                      // why, by rank
  std::set<const void*> awaiting_;                       // clients that wait for what they have foreseen
  std::vector<const void*> to_leave_, leaving_clients_;  // clients whose transfers are to be given up, and are being given up
  bool opened_ = false, closed_ = false;
  bool is_called_ = false;            // by a client that awaits something
  bool ends_ = false, over_ = false;  // as end() and the destructor ask
  bool ended_ = false;                // all hosts have ended the link
  std::optional<int> abort_;          // the exit code
  std::exception_ptr failure_;

  // Of the thread alone:
  std::unordered_map<Link::Transfer, UnderWay> under_way_;
  std::vector<Link::Transfer> done_;
  std::vector<int> link_ranks_;      // by host
  std::optional<std::string> loss_;  // that has yet to be recovered from
  States states_;                    // of the last recovery: the link touches them until it shrinks again, or has gone
  std::vector<Peer> peers_;
  std::vector<Leaving> leaving_;
  std::array<size_t, 3> under_way_by_urgency_{};
  int eager_ = 0;  // polls without a pause that are left
  bool ending_ = false;
  Clock::time_point last_turn_, last_beat_;
  Clock::duration pause_{};
  std::thread thread_;  // last: it uses all that stands above
};

}  // namespace arbalest
