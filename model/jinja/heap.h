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
#include "model/jinja/value.h"

namespace trivium::jinja {

// The limits of a rendering. A template comes from a stranger's folder, and its
// input from a stranger's request.
struct Limits {
  int64_t work = int64_t{100}
                 << 20;         // characters touched; a step counts kStepWork
  int64_t work_per_input = 64;  // added for each character of the request
  size_t bytes = size_t{128} << 20;  // of the values that are alive
  size_t bytes_per_input = 64;
  int depth = 500;  // nesting of macros, statements and expressions
};
inline constexpr int64_t kStepWork = 16;
// Most levels of nested values, such as lists in lists.
inline constexpr int kMaxValueDepth = 100;

// Makes the values of one rendering and counts their work and memory, which are
// bounded whatever a template does. A heap must outlive its values. The
// constants of a template belong to no heap (`heap` of their objects is null).
class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  const Limits& limits() const { return limits_; }
  // Called now and then if set; an error that it returns ends the rendering.
  void set_wanted(std::function<absl::Status()> wanted) {
    wanted_ = std::move(wanted);
  }
  // Raises the limits for a request of so many characters.
  void AddInput(size_t characters);

  // Counts work; RESOURCE_EXHAUSTED if it exceeds the limit.
  absl::Status Spend(size_t work);
  // Checks that a text of so many characters may be made, and counts its work.
  absl::Status Room(size_t characters);

  absl::StatusOr<Value> NewText(Text text, bool markup = false);
  absl::StatusOr<Value> NewText(std::string_view ascii);
  absl::StatusOr<Value> NewList(std::vector<Value> items,
                                Kind kind = Kind::kList, std::string name = "");
  // If two keys are equal, the first keeps its place and the last its value.
  // INVALID_ARGUMENT if a value cannot be a key.
  absl::StatusOr<Value> NewDict(std::vector<std::pair<Value, Value>> entries);
  // Makes a generator whose items come from `make`, which holds these values.
  absl::StatusOr<Value> NewGenerator(
      std::span<const Value> holds,
      std::function<absl::StatusOr<std::vector<Value>>()> make);
  // Makes a generator whose items are known.
  absl::StatusOr<Value> NewGenerator(std::vector<Value> items);
  absl::StatusOr<Value> NewMethod(const Value& self, std::string_view name);
  // `why` becomes the error of any access to the value; it is cut if it is
  // long.
  Value NewUndefined(std::string why);
  // A namespace lives as long as the heap, because it may come to hold itself.
  absl::StatusOr<Value> NewNamespace();

  // Counts an object that was made elsewhere.
  absl::Status Adopt(Object* object, size_t bytes);

  void Release(size_t bytes) { live_ -= bytes; }

 private:
  Limits limits_;
  std::function<absl::Status()> wanted_;
  int64_t work_ = 0;
  int64_t next_question_ = 0;  // work at which wanted_ is called next
  size_t live_ = 0;
  std::vector<std::unique_ptr<NamespaceObject>> namespaces_;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_HEAP_H_
