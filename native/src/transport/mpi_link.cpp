#include <cstdlib>
#include <utility>

#include "core/own_library.h"
#include "link_interface_hash.h"
#include "transport/link.h"

namespace arbalest {
namespace {

// Libraries that MPI brings with it handle SIGSEGV and its like, to print a trace: Open MPI when it is initialised, UCX, PSM and PSM2 when
// they are loaded. Node.js needs SIGSEGV itself: it becomes an exception of WebAssembly. What the user has set stays.
void leave_signals_to_node() {
  for (const char* name : {"OMPI_MCA_opal_signal", "UCX_ERROR_SIGNALS"}) setenv(name, "", 0);
  for (const char* name : {"IPATH_NO_BACKTRACE", "HFI_NO_BACKTRACE"}) setenv(name, "1", 0);
}

// Libraries of fast networks watch which memory is unmapped. For that Open MPI, UCX and libfabric rewrite functions of the C library that
// other threads are in, and UCX raises the end of the heap by a page and lowers it again, which takes the page from a thread that allocates
// meanwhile. They read these when they are loaded or initialised. Without the watch they register memory for each transfer.
void leave_memory_to_libc() {
  setenv("OMPI_MCA_memory", "^patcher", 0);
  setenv("UCX_MEM_EVENTS", "no", 0);
  setenv("FI_MR_CACHE_MONITOR", "disabled", 0);
}

// Open MPI 5 and PMIx set these, to the same values, in the thread that initialises MPI. There they are then no new variables.
void add_what_pmix_adds() {
  for (auto [name, source] : {std::pair{"PMIX_PREFIX", "OPAL_PREFIX"}, std::pair{"PMIX_MCA_psec", "PMIX_SECURITY_MODE"}})
    if (const char* value = std::getenv(source)) setenv(name, value, 0);
}

template <class Function> Function symbol(const char* name) {
  static const OwnLibrary kLibrary{
      "hosts", "libarbalest-mpi.so", "run `npx arbalest setup --mpi`", "arbalest_link_interface", ARBALEST_LINK_INTERFACE, true};
  return reinterpret_cast<Function>(symbol_of(kLibrary, name));
}

}  // namespace

void prepare_for_mpi() {
  leave_signals_to_node();
  leave_memory_to_libc();
  add_what_pmix_adds();
}

std::unique_ptr<Link> open_mpi_link(int number, const LinkMembers& links) {
  return std::unique_ptr<Link>(symbol<ArbalestOpenLink>("arbalest_open_link")(number, links));
}

LinkLibraryReport about_mpi_link() {
  prepare_for_mpi();
  try {
    return {true, symbol<ArbalestLinkAbout>("arbalest_link_about")()};
  } catch (const Error& error) {
    return {false, error.what()};
  }
}

}  // namespace arbalest
