#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_FEED_FORWARD_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_FEED_FORWARD_H_

#include "model/transformer/description.h"
#include "tests/support/reference_numbers.h"

namespace trivium::reference {

// Feed-forwards and mixtures of experts of the reference transformer.

// `x` is normalized by the layer's norm, `read` is what the norm reads.
Matrix FeedForward(const Matrix& x, const Matrix& read,
                   const LayerDescription& tensors,
                   const StackDescription& stack, const Numbers& numbers);

}  // namespace trivium::reference

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_FEED_FORWARD_H_
