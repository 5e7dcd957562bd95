#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_STATES_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_STATES_H_

#include "model/transformer/description.h"
#include "tests/support/reference_numbers.h"

namespace trivium::reference {

// Layers of the reference transformer that keep a state per sequence.

// Returns the output of a RecurrenceDescription for rows x of one sequence.
Matrix Recurrence(const Matrix& x, const RecurrenceDescription& tensors,
                  const Numbers& numbers);

// Returns the output of a MixerDescription likewise.
Matrix Mixed(const Matrix& x, const MixerDescription& tensors,
             const StackDescription& stack, const Numbers& numbers);

}  // namespace trivium::reference

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_STATES_H_
