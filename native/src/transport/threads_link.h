// A link whose hosts are threads of one process, each with a link of its own: for tests, of which ThreadSanitizer can see all hosts at
// once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "transport/link.h"

namespace arbalest {

class ThreadsLink final : public Link {
 public:
  // The links of one name, one for each rank, find each other whatever the order in which they are made. What is sent to a rank that has no
  // link yet waits for it. Throws INVALID_OPTION for a rank that is taken, and for a size that is not that of the others.
  // `shrinks`: the others can go on after the loss of a host.
  ThreadsLink(const std::string& name, int rank, int size, bool shrinks = false);
  // A host that goes without end() is lost to the others.
  ~ThreadsLink() override;

  int rank() const override;
  int size() const override { return static_cast<int>(hosts_.size()); }
  Transfer send(Channel channel, int to, int tag, std::span<const std::byte> bytes) override;
  Transfer receive(Channel channel, int from, int tag, std::span<std::byte> bytes) override;
  bool cancel(Transfer receive) override;
  void poll(std::vector<Transfer>& done) override;
  std::vector<int> shrink() override;
  void end() override;
  void abort(int code) noexcept override;

  // From now on no message reaches the host of this rank, and none comes from it: as when its network fails.
  static void cut_off(const std::string& name, int rank);

 private:
  using Route = std::tuple<Channel, int, int>;  // channel, host and tag
  struct Message {
    Route route;
    int shrunk;  // how often the sender had
    std::span<const std::byte> bytes;
    Transfer transfer;
  };
  struct Posted {
    Transfer transfer;
    std::span<std::byte> bytes;
  };
  struct Mailbox;
  struct Hub;

  static std::shared_ptr<Hub> hub_of(const std::string& name, int size);
  // Empty while one of them has yet to shrink the link.
  std::vector<int> survivors_now();
  void deliver(const Message& message, const Posted& posted, std::vector<Transfer>& done);

  const std::shared_ptr<Hub> hub_;
  const int host_;  // its rank at the beginning
  const bool shrinks_;
  std::vector<int> hosts_;  // by rank
  int shrunk_ = 0;
  Transfer transfers_ = 0;
  std::map<Route, std::vector<Posted>> posted_;
  std::map<Route, std::vector<Message>> unexpected_;
};

}  // namespace arbalest
