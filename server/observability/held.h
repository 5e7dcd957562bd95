#ifndef TRIVIUM_SERVER_OBSERVABILITY_HELD_H_
#define TRIVIUM_SERVER_OBSERVABILITY_HELD_H_

namespace trivium {

// What the process holds for clients.
enum class Held {
  kIncoming,   // messages that have not come in whole
  kRequests,   // of calls under way, as they came
  kResults,    // of models, of which messages are not made yet
  kOutbox,     // messages of streams that wait to be written
  kResponses,  // written, and not taken by the client
};
inline constexpr int kHeldKinds = 5;

constexpr const char* HeldName(Held kind) {
  constexpr const char* kNames[kHeldKinds] = {"incoming", "requests", "results",
                                              "outbox", "responses"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_HELD_H_
