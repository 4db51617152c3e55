// MPI's error codes as errors of ours.
#pragma once

#include <mpi.h>

#include <string>

// Open MPI declares ULFM in a header of its own, MPICH in mpi.h.
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "core/error.h"

namespace arbalest {

// Whether this MPI can go on after the loss of a process (ULFM).
#ifdef MPIX_ERR_PROC_FAILED
inline constexpr bool kHasUlfm = true;
#else
inline constexpr bool kHasUlfm = false;
#endif

inline int class_of(int code) {
  int found = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &found);
  return found;
}

// Whether a call failed because a process is gone, or because another one has said so.
inline bool is_loss(int code) {
#ifdef MPIX_ERR_PROC_FAILED
  const int found = class_of(code);
  return found == MPIX_ERR_PROC_FAILED || found == MPIX_ERR_PROC_FAILED_PENDING || found == MPIX_ERR_REVOKED;
#else
  return false;
#endif
}

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<size_t>(length)};
}

// For a call that is about no single host.
inline void expect_success(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw Error(is_loss(code) ? "HOST_LOST" : "INTERNAL", std::string("hosts: ") + call + ": " + text_of(code));
}

}  // namespace arbalest
