#ifndef TRIVIUM_CLIENT_COMMANDS_SCORE_H_
#define TRIVIUM_CLIENT_COMMANDS_SCORE_H_

#include <string>

#include "trivium/v1/inference.pb.h"

namespace trivium {

// Parses an input line of Score: a context, a tab and the target, or a target
// alone.
v1::ScoreInput ToScored(const std::string& line);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_SCORE_H_
