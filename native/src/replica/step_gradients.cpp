#include "replica/step_gradients.h"

namespace arbalest {

void StepGradients::begin() {
  begun_ = 1;
  arrived_ = averaged_ = false;
}

void StepGradients::advance() {
  memory_.keep_gradients(begun_ == 1);
  ++begun_;
  arrived_ = false;
}

void StepGradients::average(size_t begin, size_t end) {
  if (begun_ > 1) memory_.average_gradients(begin, end, begun_);
}

void StepGradients::average() {
  if (!averaged_) average(0, memory_.elements());
  averaged_ = true;
}

}  // namespace arbalest
