#ifndef TRIVIUM_TESTS_SUPPORT_ERROR_TEXTS_H_
#define TRIVIUM_TESTS_SUPPORT_ERROR_TEXTS_H_

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trivium {

// Error texts are prose. Tests check that an error has the right code and names
// the right place: the field, file, flag or value that the user must change.
// The wording of all of them is in one file, tests/error_texts.txt, which a
// reviewer reads from top to bottom.
//
//   EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "top_p"));
//   EXPECT_THAT(problems, ElementsAre(ErrorAt("d_kv"), ErrorAt("vocabs")));
//
// A text that the file does not have fails the test. TRIVIUM_UPDATE_ERROR_TEXTS
// in the environment appends it instead; tests/tools/update_error_texts makes
// the whole file anew.

// The text as the file has it: numbers, names of temporary files and ids of
// requests are replaced, since they differ from run to run. A number that is
// part of a word, as in int8, stays.
std::string NormalizedErrorText(std::string_view text);

// Whether the file has the text, or it could be appended.
bool IsKnownErrorText(std::string_view text);

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// An error text that names `place`. `place` is a word or a path, not a phrase.
MATCHER_P(ErrorAt, place, "") {
  const std::string_view text(arg);
  if (text.find(place) == std::string_view::npos) {
    *result_listener << "which does not name " << place;
    return false;
  }
  if (!IsKnownErrorText(text)) {
    *result_listener << "which tests/error_texts.txt does not have: "
                     << NormalizedErrorText(text);
    return false;
  }
  return true;
}

// An absl::Status, or StatusOr, of this code whose text names `place`.
MATCHER_P2(IsError, code, place, "") {
  const absl::Status status = StatusOf(arg);
  if (status.code() != code) {
    *result_listener << "whose code is "
                     << absl::StatusCodeToString(status.code());
    return false;
  }
  return testing::ExplainMatchResult(
      ErrorAt(place), std::string(status.message()), result_listener);
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_ERROR_TEXTS_H_
