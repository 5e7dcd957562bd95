#ifndef TRIVIUM_MODEL_JINJA_HEAP_H_
#define TRIVIUM_MODEL_JINJA_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// What one rendering may cost. A template comes from a stranger's folder, and
// what it is rendered with from a stranger's request.
struct Limits {
  int64_t work = int64_t{100} << 20;  // characters touched; a step is kStepWork
  int64_t work_per_input = 64;        // more for each character of the request
  size_t bytes = size_t{128} << 20;   // of values alive at a time
  size_t bytes_per_input = 64;
  int depth = 500;  // of macros, statements and expressions inside each other
};
inline constexpr int64_t kStepWork = 16;
// Of lists in lists and the like.
inline constexpr int kMaxValueDepth = 100;

// Makes the values of one rendering and counts what they take: work and memory
// are bounded whatever a template does. A heap outlives its values; constants
// of a template are made on a heap of their own (`nullptr` for their objects).
class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  const Limits& limits() const { return limits_; }
  // Called during the rendering.
  void set_check_alive(AliveCheck check_alive) {
    check_alive_ = std::move(check_alive);
  }
  // The request has so many characters: more may be spent.
  void AddInput(size_t characters);

  // Counts work; RESOURCE_EXHAUSTED when it was too much.
  absl::Status Spend(size_t work);
  // Whether a text of so many characters may be made; spends it, too.
  absl::Status Room(size_t characters);

  absl::StatusOr<Value> NewText(Text text, bool markup = false);
  absl::StatusOr<Value> NewText(std::string_view ascii);
  absl::StatusOr<Value> NewList(std::vector<Value> items,
                                Kind kind = Kind::kList, std::string name = "");
  // Of two equal keys the first keeps its place and the last its value.
  // INVALID_ARGUMENT where one is no key.
  absl::StatusOr<Value> NewDict(std::vector<std::pair<Value, Value>> entries);
  // `make` holds these values.
  absl::StatusOr<Value> NewGenerator(
      std::span<const Value> holds,
      std::function<absl::StatusOr<std::vector<Value>>()> make);
  // One whose items are known.
  absl::StatusOr<Value> NewGenerator(std::vector<Value> items);
  absl::StatusOr<Value> NewMethod(const Value& self, std::string_view name);
  // What asking it for anything says; cut where it is long.
  Value NewUndefined(std::string why);
  // Lives as long as the heap: it may come to hold itself.
  absl::StatusOr<Value> NewNamespace();

  // Counts an object that is made elsewhere.
  absl::Status Adopt(Object* object, size_t bytes);

  void Release(size_t bytes) { live_ -= bytes; }

 private:
  Limits limits_;
  AliveCheck check_alive_;
  int64_t work_ = 0;
  int64_t next_question_ = 0;  // the work at which check_alive_ is called
  size_t live_ = 0;
  std::vector<std::unique_ptr<NamespaceObject>> namespaces_;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_HEAP_H_
