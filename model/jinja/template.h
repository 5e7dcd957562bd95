#ifndef TRIVIUM_MODEL_JINJA_TEMPLATE_H_
#define TRIVIUM_MODEL_JINJA_TEMPLATE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/jinja/environment.h"
#include "model/jinja/heap.h"
#include "model/jinja/syntax.h"

namespace trivium::jinja {

// A template in the part of Jinja 2 that chat templates use, parsed once and
// rendered often, from several threads if need be:
//
//   auto greeting = Template::Parse("Hello {{ name|title }}!");
//   Heap heap(Limits{});
//   auto name = heap.NewText(TextFromUtf8("world", /*from_data=*/true));
//   auto text = greeting->Render(heap, {{"name", *name}}, surroundings);
//
// It behaves as jinja2's ImmutableSandboxedEnvironment does as Transformers
// sets it up: trim_blocks, lstrip_blocks, the loop controls, no autoescape.
class Template {
 public:
  // INVALID_ARGUMENT names the line, and the filter, test, function, method or
  // tag that is not supported: none is met first when the template is rendered.
  static absl::StatusOr<Template> Parse(std::string_view source);

  // INVALID_ARGUMENT says in which line what went wrong, raise_exception()
  // included; RESOURCE_EXHAUSTED where the heap's limits were met. The heap
  // outlives the variables, which are from it.
  absl::StatusOr<Text> Render(
      Heap& heap, const std::vector<std::pair<std::string, Value>>& variables,
      const Surroundings& surroundings) const;

 private:
  explicit Template(Body body)
      : body_(std::make_shared<const Body>(std::move(body))) {}

  std::shared_ptr<const Body> body_;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_TEMPLATE_H_
