// The exports of libarbalest-mpi.so.
#include <sys/prctl.h>

#include <csignal>
#include <string>

#include "link_interface_hash.h"
#include "transport/mpi/mpi_error.h"
#include "transport/mpi/mpi_link.h"

namespace arbalest {
namespace {

// The library that is open, in its own words: "Open MPI v4.1.4, package: Debian OpenMPI, ident: ..." or lines that begin with
// "MPICH Version:      4.0.2".
std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string line(text, static_cast<size_t>(length));
  line = line.substr(0, line.find_first_of(",\n"));
  for (char& each : line)
    if (each == '"' || each == '\\' || each == '\t') each = ' ';
  return line;
}

std::string about() {
  const std::string has_ulfm = kHasUlfm ? "true" : "false";
  return R"({"name":")" ARBALEST_MPI_NAME R"(","version":")" ARBALEST_MPI_VERSION R"(","library":")" + library_version() + R"(","ulfm":)" +
         has_ulfm + "}";
}

}  // namespace
}  // namespace arbalest

#define ARBALEST_EXPORT __attribute__((visibility("default")))

extern "C" {

ARBALEST_EXPORT const char* arbalest_link_interface() { return ARBALEST_LINK_INTERFACE; }

ARBALEST_EXPORT arbalest::Link* arbalest_open_link(int number, const arbalest::LinkMembers& links) {
  // A process without its launcher is of no use to the others: it ends at once, even where a program between them, such as npx, is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return arbalest::MpiLink::open(number, links).release();
}

ARBALEST_EXPORT const char* arbalest_link_about() {
  static const std::string text = arbalest::about();
  return text.c_str();
}
}
