// A oneDNN primitive over placed buffers.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "cpu/memory.h"
#include "device/backend.h"

namespace arbalest {

// The arguments are listed once. run() passes the list to oneDNN's C interface: the C++ one would copy a map at every call. A CPU stream
// computes before it returns, so that run() need not wait.
class PrimitiveKernel : public Kernel {
 public:
  struct Argument {
    int name;
    dnnl::memory::desc descriptor;
    void* data;
  };

  // `scratch` was planned for the threads of the program. If the primitive needs more, the kernel allocates its own.
  PrimitiveKernel(const dnnl::primitive_desc_base& primitive, const std::vector<Argument>& arguments, const dnnl::engine& engine,
                  void* scratch, size_t scratch_bytes);
  void run(const StepContext& step) override;

 private:
  void add(const Argument& argument, const dnnl::engine& engine);

  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  Pages own_scratch_;
};

std::unique_ptr<Kernel> make_layer(const OperatorSpec& spec, const dnnl::engine& engine);

// Copies between layouts and element types; padding lanes of the output become zero.
LoweringAnswer lower_reorder(const LoweringRequest& request, const dnnl::engine& engine);
std::unique_ptr<Kernel> make_reorder(const Tensor& from, const Tensor& to, void* scratch, size_t scratch_bytes, const dnnl::engine& engine);

}  // namespace arbalest
