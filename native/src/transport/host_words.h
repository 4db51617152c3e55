// What the hosts tell each other beside the sums, without waiting: each tells the same short words to all others, one after another, and
// takes the next word of all hosts together, once all of them have told it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/hosts_thread.h"

namespace arbalest {

class HostWords {
 public:
  using Bytes = std::vector<std::byte>;

  // The words of one group's number meet each other. `told` is called in the hosts' thread when a word has come or the hosts have failed.
  HostWords(std::shared_ptr<HostsThread> hosts, int number, size_t longest, HostsThread::Done told);
  ~HostWords();
  HostWords(const HostWords&) = delete;
  HostWords& operator=(const HostWords&) = delete;

  int rank() const { return hosts_->rank(); }
  size_t size() const { return incoming_.size(); }
  std::exception_ptr failure() const { return hosts_->failure(); }
  // Of the words after the next.
  void set_longest(size_t bytes);
  void tell(Bytes word);
  // The next word of every host, by rank, where all have told theirs.
  std::optional<std::vector<Bytes>> take();

 private:
  struct Incoming {
    Bytes next;
    std::deque<Bytes> words;
  };

  void expect(int rank);
  void arrive(int rank);

  const std::shared_ptr<HostsThread> hosts_;
  const int tag_;
  const HostsThread::Done told_;
  std::mutex mutex_;
  size_t longest_;
  std::vector<Incoming> incoming_;
};

}  // namespace arbalest
