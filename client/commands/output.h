#ifndef TRIVIUM_CLIENT_COMMANDS_OUTPUT_H_
#define TRIVIUM_CLIENT_COMMANDS_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/commands/io.h"
#include "client/commands/progress.h"
#include "google/protobuf/message.h"

namespace trivium {

// Writes a command's results, one a line. Each line is flushed, so that the
// reader of a pipe gets it at once. An error means that the output is gone.
class Output {
 public:
  // If `keep_newlines` is false, Line and Piece write newlines as spaces, so
  // that each result is one line. `progress` may be null; its bar is hidden
  // while results are written to the same terminal.
  Output(const Io& io, bool keep_newlines, Progress* progress);

  absl::Status Line(std::string_view text);
  // Writes a part of a line. EndLine ends the line.
  absl::Status Piece(std::string_view text);
  absl::Status EndLine() { return Write("\n"); }
  // Writes a message as one line of JSON (MessageJson).
  absl::Status Json(const google::protobuf::Message& message);
  // Writes a placeholder for the result of a text that failed: an empty line,
  // or in JSON the error, as in a response of TranslateStream.
  absl::Status Failure(const absl::Status& status, bool json);
  // Writes a line to the error output, after "trivium: ".
  void Note(std::string_view text);
  // Does the same with an error, whose fields it names by their flags.
  void Complain(std::string_view text);

 private:
  absl::Status Write(std::string_view bytes);
  std::string InOneLine(std::string_view text) const;

  const Io io_;
  const bool keep_newlines_;
  Progress* const progress_;
  const bool shares_terminal_;  // true if results and progress share a terminal
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_OUTPUT_H_
