#ifndef TRIVIUM_MODEL_PATH_HINT_H_
#define TRIVIUM_MODEL_PATH_HINT_H_

#include <string>
#include <string_view>

namespace trivium {

// Returns the end of an error about a path that is no model's folder: the path
// may be a file of the folder that is meant, or the name of a model on the hub.
// Empty: it looks like neither.
std::string PathHint(std::string_view path);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PATH_HINT_H_
