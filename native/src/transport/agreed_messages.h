// What the hosts tell each other beside the sums, without waiting: each sends its short messages to all others, one after another, and
// takes the next message of all hosts together, once all of them have told it. After the loss of a host those that are left take the same
// messages: a host that has not got all messages of a number, while another had, gets them from there.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/hosts_thread.h"

namespace arbalest {

class AgreedMessages {
 public:
  using Bytes = HostsThread::Bytes;
  // What the hosts have told together, by rank; without those that were lost before.
  using Told = std::map<int, Bytes>;

  // The messages of one group's number meet each other. `told` is called in the hosts' thread when a message has come or the hosts have
  // failed. A host tells `ahead` messages more than it has taken, at most.
  AgreedMessages(std::shared_ptr<HostsThread> hosts, int number, size_t longest, size_t ahead, HostsThread::Done told);
  ~AgreedMessages();
  AgreedMessages(const AgreedMessages&) = delete;
  AgreedMessages& operator=(const AgreedMessages&) = delete;

  int rank() const { return hosts_->rank(); }
  size_t size() const { return incoming_.size(); }
  std::exception_ptr failure() const { return hosts_->failure(); }
  // Of the messages after the next.
  void set_longest(size_t bytes);
  void tell(Bytes message);
  // Whether somebody waits for the next messages: they are looked for more often.
  void await(bool awaits) { hosts_->await(this, awaits); }
  // The next message of every host where all have told theirs.
  std::optional<Told> take();

 private:
  struct Incoming {
    Bytes next;
    std::deque<Bytes> messages;
  };

  void expect(int rank);
  void arrive(int rank);
  void send(const Bytes& message);
  Bytes state();
  void go_on(const std::map<int, Bytes>& states);

  const std::shared_ptr<HostsThread> hosts_;
  const int tag_;
  const HostsThread::Done told_;
  const size_t kept_;
  std::mutex mutex_;
  size_t longest_;
  std::vector<int> others_;  // whose messages are waited for
  std::vector<Incoming> incoming_;
  int64_t taken_ = 0;        // of all hosts together
  std::deque<Told> newest_;  // the last of these, which another host may need
  std::deque<Told> agreed_;  // that another host has taken, and this one not yet
  bool paused_ = false;      // between state() and go_on()
};

}  // namespace arbalest
