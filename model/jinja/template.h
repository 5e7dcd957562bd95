#ifndef TRIVIUM_MODEL_JINJA_TEMPLATE_H_
#define TRIVIUM_MODEL_JINJA_TEMPLATE_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/jinja/environment.h"
#include "model/jinja/heap.h"
#include "model/jinja/syntax.h"

namespace trivium::jinja {

// A template in the part of Jinja 2 that chat templates use. It is parsed once
// and may be rendered often, from several threads:
//
//   auto greeting = Template::Parse("Hello {{ name|title }}!");
//   Heap heap(Limits{});
//   auto name = heap.NewText(TextFromUtf8("world", /*from_data=*/true));
//   auto text = greeting->Render(heap, {{"name", *name}}, surroundings);
//
// It behaves like jinja2's ImmutableSandboxedEnvironment in Transformers'
// setup: trim_blocks, lstrip_blocks, loop controls, no autoescape.
class Template {
 public:
  // INVALID_ARGUMENT names the line, and the filter, test, function, method or
  // tag that is not supported. So a rendering never meets an unknown one.
  static absl::StatusOr<Template> Parse(std::string_view source);

  // INVALID_ARGUMENT names the line of an error, raise_exception() included;
  // RESOURCE_EXHAUSTED if the heap's limits are exceeded. The variables belong
  // to the heap, which must outlive them.
  absl::StatusOr<Text> Render(
      Heap& heap, const std::vector<std::pair<std::string, Value>>& variables,
      const Surroundings& surroundings) const;

  // False if the template never reads a variable of this name.
  bool MayRead(std::string_view name) const {
    return names_.find(name) != names_.end();
  }

 private:
  Template(Body body, std::set<std::string, std::less<>> names)
      : body_(std::make_shared<const Body>(std::move(body))),
        names_(std::move(names)) {}

  std::shared_ptr<const Body> body_;
  std::set<std::string, std::less<>> names_;  // all that it has
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_TEMPLATE_H_
