// A link joins the hosts of a run: the processes that train one central model together. This is all that the engine asks of MPI. A link by
// threads of one process implements it for tests (threads_link.h); the library libarbalest-mpi.so implements it on MPI (transport/mpi).
//
// One thread makes all calls of a link, from its opening to its end (hosts_thread.h), so that MPI_THREAD_FUNNELED is enough. No call waits
// for another host, except for opening, shrink() and end().
//
// There are no collective calls: every message has one sender and one receiver. So each wait can be given up, a host that does not answer
// has a number, and sums are added in the order that their owner chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace arbalest {

// Messages of different channels never match, and a channel's messages never wait behind those of another. On MPI each is a communicator.
enum class Channel : uint8_t {
  urgent,   // what the hosts tell each other of rounds and turns: small messages
  data,     // pieces of sums: up to megabytes
  control,  // what rank 0 and the other hosts tell each other at rests
};
inline constexpr size_t kChannels = 3;

class Link {
 public:
  // A message under way. A link never uses a number twice.
  using Transfer = uint64_t;

  // Tags are from 0 to kMostTag, which every MPI takes, and a message has at most kMostBytes.
  static constexpr int kMostTag = 32767;
  static constexpr size_t kMostBytes = size_t{1} << 30;

  // Gives up what is under way. After end() or abort() it releases memory, and no more.
  virtual ~Link() = default;

  // This process, and the number of processes. They change in shrink() alone.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Both return at once. A message matches the first receive of the same sender, channel and tag that no earlier message has matched; it
  // is no longer than that, and may be empty. Messages of one sender, channel and tag are received in the order in which they were sent;
  // those of different tags may overtake each other. `to` and `from` are never this process.
  //
  // The caller neither changes what is sent nor touches what is received until poll() has returned the transfer. A receive should be under
  // way before its message is sent: then the message goes to its place without a copy. The same place is used again in each round, so an
  // implementation may keep persistent requests by (channel, rank, tag, place).
  virtual Transfer send(Channel channel, int to, int tag, std::span<const std::byte> bytes) = 0;
  virtual Transfer receive(Channel channel, int from, int tag, std::span<std::byte> bytes) = 0;
  // Gives up a receive whose message has not been sent. When it returns, the link no longer touches the memory, and poll() will not return
  // the transfer. Returns false where the message has arrived after all: poll() has returned, or will return, the transfer.
  virtual bool cancel(Transfer receive) = 0;

  // Moves what is under way, and appends the transfers that are done, in any order. Returns at once; it is called again and again while
  // anything is under way, because an MPI library works in its calls alone. Throws HOST_LOST, with the rank, where the implementation
  // learns that a host is gone: then only shrink(), abort() and the destructor may be called.
  virtual void poll(std::vector<Transfer>& done) = 0;

  // After HOST_LOST: the hosts that are left agree on who they are, and go on as a link of their own. Returns their former ranks in the
  // order of their new ones; every transfer has been given up. Waits for the others. Empty where the implementation cannot do this (MPI
  // without ULFM): then the run ends.
  virtual std::vector<int> shrink() { return {}; }

  // Every host calls it, and it may wait for the others. What is still under way need not arrive. No call but the destructor follows.
  virtual void end() = 0;
  // Ends the processes of all hosts, as MPI_Abort does. Where hosts are threads it ends the link for all of them instead: each poll()
  // throws HOST_LOST. No call but the destructor follows.
  virtual void abort(int code) noexcept = 0;
};

// The ranks of MPI that are the hosts of a link, in order; all if it is empty. A process's links are numbered from 0 by their place in the
// list. Each of them is opened, on every one of its hosts, and those that two processes share come in the same order in both.
using LinkMembers = std::vector<std::vector<int>>;

// Sets what MPI and the libraries that it brings read from the environment, unless the user has. To be called before open_mpi_link(), in
// the thread of JavaScript, which is the one that reads the environment: before glibc 2.41 a variable that is added may free what another
// thread is reading.
void prepare_for_mpi();

// The link on MPI. Opens libarbalest-mpi.so when it is first asked for, and initialises MPI. The calling thread makes all further calls.
// Throws BACKEND_UNAVAILABLE, with the fix, if the library is missing, was built from other sources, or cannot initialise MPI.
std::unique_ptr<Link> open_mpi_link(int number = 0, const LinkMembers& links = {{}});

// One line of JSON about the library (MPI's name and version, whether it has ULFM), or the reason why it cannot be opened. Does not
// initialise MPI.
struct LinkLibraryReport {
  bool available = false;
  std::string detail;
};
LinkLibraryReport about_mpi_link();

}  // namespace arbalest

// The exports of libarbalest-mpi.so: arbalest_link_interface, arbalest_open_link and arbalest_link_about. It is opened with RTLD_NOW and
// RTLD_GLOBAL: components that MPI loads later look for MPI's own symbols among the global ones.
extern "C" {
using ArbalestLinkInterface = const char* (*)();  // ARBALEST_LINK_INTERFACE of link_interface_hash.h, when the library was built
// See open_mpi_link(); the caller owns the result. Throws arbalest::Error.
using ArbalestOpenLink = arbalest::Link* (*)(int number, const arbalest::LinkMembers& links);
using ArbalestLinkAbout = const char* (*)();  // see about_mpi_link(); initialises nothing
}
