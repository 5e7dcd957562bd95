#ifndef TRIVIUM_MODEL_TRANSFORMER_PARTS_H_
#define TRIVIUM_MODEL_TRANSFORMER_PARTS_H_

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace trivium {

// Packed weights are structs of structs. VisitParts calls f for each of their
// parts: every object with bytes() of its own (a Linear, a Norm, a table),
// however deep. So sums over a model are written once, without a list that may
// miss a new member: a struct's ForEachPart(f) names all its members
// in a structured binding, which does not compile until a new
// member is named in it.
template <typename F, typename... Members>
void VisitParts(const F& f, const Members&... members);

template <typename F, typename Member>
void VisitPart(const F& f, const Member& member) {
  if constexpr (requires { member.ForEachPart(f); }) {
    member.ForEachPart(f);
  } else if constexpr (requires { member.bytes(); }) {
    f(member);
  } else {
    static_assert(std::is_arithmetic_v<Member> || std::is_enum_v<Member>,
                  "a part needs bytes() or ForEachPart()");
  }
}
template <typename F, typename Member>
void VisitPart(const F& f, const std::optional<Member>& member) {
  if (member.has_value()) VisitPart(f, *member);
}
template <typename F, typename Member>
void VisitPart(const F& f, const std::vector<Member>& members) {
  for (const Member& member : members) VisitPart(f, member);
}
template <typename F, typename Member>
void VisitPart(const F& f, const std::shared_ptr<Member>& member) {
  if (member != nullptr) VisitPart(f, *member);
}

template <typename F, typename... Members>
void VisitParts(const F& f, const Members&... members) {
  (VisitPart(f, members), ...);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_PARTS_H_
