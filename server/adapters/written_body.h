#ifndef TRIVIUM_SERVER_ADAPTERS_WRITTEN_BODY_H_
#define TRIVIUM_SERVER_ADAPTERS_WRITTEN_BODY_H_

#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace trivium {

// The values of a JSON body with the members of objects in the order in which
// they are written there. JsonFields drops the order, but models and
// constraints see that of a schema. The body is parsed when the first value is
// asked for.
class WrittenBody {
 public:
  // `body` is JSON (ReadJsonBody) and outlives this.
  explicit WrittenBody(std::string_view body) : body_(body) {}

  // Returns the value at a JSON pointer, such as "/tools/0"; null if there is
  // none.
  nlohmann::ordered_json At(const std::string& pointer) {
    if (whole_.is_null()) {
      whole_ = nlohmann::ordered_json::parse(body_, nullptr,
                                             /*allow_exceptions=*/false);
    }
    const nlohmann::ordered_json::json_pointer place(pointer);
    return whole_.contains(place) ? whole_.at(place) : nlohmann::ordered_json();
  }

 private:
  const std::string_view body_;
  nlohmann::ordered_json whole_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_WRITTEN_BODY_H_
