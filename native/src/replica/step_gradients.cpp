#include "replica/step_gradients.h"

namespace arbalest {

void StepGradients::begin() {
  begun_ = 1;
  arrived_ = settled_ = false;
}

void StepGradients::advance() {
  memory_.keep_gradients(begun_ == 1);
  ++begun_;
  arrived_ = false;
}

void StepGradients::settle(size_t begin, size_t end) {
  if (begun_ > 1) memory_.average_gradients(begin, end, begun_);
}

void StepGradients::settle() {
  if (!settled_) settle(0, memory_.elements());
  settled_ = true;
}

}  // namespace arbalest
