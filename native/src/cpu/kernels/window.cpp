#include "cpu/kernels/window.h"

namespace arbalest::kernels {

Shape pooled(const Shapes& shapes, const Shape& image) {
  const auto kernel = shapes.whole_pair("kernel", 1), stride = shapes.whole_pair("stride", 1), padding = shapes.whole_pair("padding", 0);
  Shape result{image[0], image[1], 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    if (padding[i] >= kernel[i]) {
      shapes.refuse("padding", shown({padding[0], padding[1]}), "make it less than the kernel of " + shown({kernel[0], kernel[1]}));
    }
    const int64_t room = image[2 + i] + 2 * padding[i] - kernel[i];
    if (room < 0) shapes.refuse("image", shown(image), "make it, with its padding, at least as large as the kernel");
    result[2 + i] = room / stride[i] + 1;
  }
  return result;
}

}  // namespace arbalest::kernels
