#include "core/own_library.h"
#include "link_interface_hash.h"
#include "transport/link.h"

namespace arbalest {
namespace {

template <class Function> Function symbol(const char* name) {
  static const OwnLibrary kLibrary{
      "hosts", "libarbalest-mpi.so", "run `npx arbalest setup --mpi`", "arbalest_link_interface", ARBALEST_LINK_INTERFACE, true};
  return reinterpret_cast<Function>(symbol_of(kLibrary, name));
}

}  // namespace

std::unique_ptr<Link> open_mpi_link() { return std::unique_ptr<Link>(symbol<ArbalestOpenLink>("arbalest_open_link")()); }

LinkLibraryReport about_mpi_link() {
  try {
    return {true, symbol<ArbalestLinkAbout>("arbalest_link_about")()};
  } catch (const Error& error) {
    return {false, error.what()};
  }
}

}  // namespace arbalest
