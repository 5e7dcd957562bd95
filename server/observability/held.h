#ifndef TRIVIUM_SERVER_OBSERVABILITY_HELD_H_
#define TRIVIUM_SERVER_OBSERVABILITY_HELD_H_

namespace trivium {

// Kinds of memory that the process holds for clients.
enum class Held {
  kIncoming,   // messages that have arrived in part
  kRequests,   // request messages of running calls
  kResults,    // models' results before they become messages
  kOutbox,     // messages of streams that wait to be written
  kResponses,  // written, but not read by the client yet
};
inline constexpr int kHeldKinds = 5;

constexpr const char* HeldName(Held kind) {
  constexpr const char* kNames[kHeldKinds] = {"incoming", "requests", "results",
                                              "outbox", "responses"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_HELD_H_
