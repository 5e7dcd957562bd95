#ifndef TRIVIUM_MODEL_PATH_HINT_H_
#define TRIVIUM_MODEL_PATH_HINT_H_

#include <string>
#include <string_view>

namespace trivium {

// Returns the end of an error about a path that is no model's folder: the path
// may be a file of the folder that is meant, or the name of a model on the hub.
// Empty: it looks like neither.
std::string PathHint(std::string_view path);

// Returns the end of an error about a folder without a config.json: what the
// folder is instead, and what to give. Empty: that is not known.
std::string FolderHint(const std::string& folder);

// Returns the name of a model on the hub, "hf:OWNER/NAME", as `text` may mean
// it: OWNER/NAME, NAME or the address of its page. Empty: it looks like none.
std::string HubNameHint(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PATH_HINT_H_
