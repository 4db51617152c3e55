// What a backend can do. Code that works in different ways on different backends asks for the capability, never for the name.
#pragma once

namespace arbalest {

struct Capabilities {
  // The threads that call it do the computing: a device is a group of the process's cores. Otherwise one thread can keep a device busy.
  bool uses_cores = false;
  // Each device has a memory of its own. Otherwise all devices share the machine's memory, which the caller may touch.
  bool own_memory = false;
  // Work is queued on streams and calls return before it is done. Otherwise it is done when the call returns.
  bool streams = false;
  // Kernels can be recorded once and run again as one piece of work.
  bool recording = false;
  // A step may be several recordings, between which its gradients leave.
  bool recording_in_parts = false;
  // Several learners may read and write one central model at the same time, as asynchronous rules do.
  bool asynchronous_rules = false;
  // One `reorder` operator takes several tensors.
  bool reorders_together = false;
  // A layout is the same for all element types.
  bool layouts_of_any_type = false;
};

}  // namespace arbalest
