#ifndef TRIVIUM_CLIENT_COMMANDS_OUTPUT_H_
#define TRIVIUM_CLIENT_COMMANDS_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/commands/io.h"
#include "client/commands/progress.h"
#include "google/protobuf/message.h"

namespace trivium {

// Where a command's results go: one a line. Each line is flushed, so that a
// pipe's reader has it at once. Errors say that the output is gone.
class Output {
 public:
  // With `keep_newlines`, Line and Piece write newlines as they are, else as
  // spaces, so that results and lines correspond. `progress` may be null; it
  // makes way on a terminal that shows both.
  Output(const Io& io, bool keep_newlines, Progress* progress);

  absl::Status Line(std::string_view text);
  // A part of a line, which EndLine ends.
  absl::Status Piece(std::string_view text);
  absl::Status EndLine() { return Write("\n"); }
  // A message as one line of JSON, as MessageJson makes it.
  absl::Status Json(const google::protobuf::Message& message);
  // What stands in the place of a text that failed: an empty line, or in JSON
  // the error, as TranslateStream gives it.
  absl::Status Failure(const absl::Status& status, bool json);
  // Says something beside the results; begins with "trivium: ".
  void Complain(std::string_view text);

 private:
  absl::Status Write(std::string_view bytes);
  std::string InOneLine(std::string_view text) const;

  const Io io_;
  const bool keep_newlines_;
  Progress* const progress_;
  const bool shares_terminal_;  // results and progress are on one
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_OUTPUT_H_
