#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_CONNECTION_TABLE_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_CONNECTION_TABLE_H_

#include <sys/epoll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/transports/grpc/bare_calls.h"
#include "server/transports/grpc/call_turns.h"
#include "server/transports/grpc/relayed_connection.h"
#include "server/transports/net/connection_limits.h"

namespace trivium {

// The relay's connections: maps epoll's events to them, and knows which one
// moves when, which has been idle the longest, and which are old. A connection
// whose client is gone stays until gRPC may end its calls (BareCalls). Used by
// one thread.
//
//   table.MakeRoom()             // false: refuse the new connection
//   table.Add(id, connection, now)
//   table.OnEvent(event, now)    // epoll's events with tags from kFirstTag on
//   table.MoveDue(now)           // resumes connections that rested, ends old
class ConnectionTable {
 public:
  // A connection's tags are 2 x id (the client) and 2 x id + 1 (gRPC's end).
  // Lower tags are the relay's own. Ids start at 1.
  static constexpr uint64_t kFirstTag = 2;

  // `epoll` must stay open while this lives, as must the others. A connection
  // of age Spread(age) is told to go, and ends `grace` later.
  ConnectionTable(int epoll, BareCalls* bare_calls, CallTurns* turns,
                  Metrics* metrics, int max_connections,
                  absl::Duration age = absl::InfiniteDuration(),
                  absl::Duration grace = absl::ZeroDuration())
      : epoll_(epoll),
        bare_calls_(bare_calls),
        turns_(turns),
        metrics_(metrics),
        age_(age),
        grace_(grace),
        limits_(max_connections) {}

  int size() const { return static_cast<int>(entries_.size()); }

  void Add(uint64_t id, std::unique_ptr<RelayedConnection> connection,
           absl::Time now);
  // Ends the connection that has been idle the longest if there is no room for
  // one more. Returns false if there is no room and none is idle. O(1).
  bool MakeRoom();
  // Lowers the limit of connections and ends idle ones that exceed it.
  void Shrink(int max_connections);

  // Tells all clients to start their next calls on other connections.
  void GoAway(absl::Time now);

  void OnEvent(const epoll_event& event, absl::Time now);
  // Returns when MoveDue has something to do.
  absl::Time next_due(absl::Time now) const;
  void MoveDue(absl::Time now);
  // Moves connections whose turn it is to begin a call.
  void GiveTurns(absl::Time now);
  // Ends those whose clients are gone, without waiting.
  void EndAllGone();

 private:
  struct Entry {
    std::unique_ptr<RelayedConnection> connection;
    uint32_t client_events = 0;  // as registered with epoll
    uint32_t grpc_events = 0;
    bool grpc_watched = true;
    std::optional<absl::Time> idle_since;  // as limits_ knows it
    absl::Time leaves;                     // its time in ages_
    bool told_to_go = false;               // then `leaves` is when it ends
    bool gone = false;                     // its client is gone: in gone_
  };

  void Watch(int operation, int fd, uint32_t events, uint64_t tag) const;
  void Move(uint64_t id, bool from_client, bool from_grpc, absl::Time now);
  void MoveBytes(uint64_t id, bool from_client, bool from_grpc, absl::Time now);
  void UpdateIdle(uint64_t id, Entry* entry);
  void EndOld(absl::Time now);
  bool EndLongestIdle();
  // Ends a connection for its client, and soon for gRPC.
  void End(uint64_t id, absl::Time now);
  // Ends it for gRPC as well.
  void Erase(uint64_t id);
  void EndGone(absl::Time now);
  void EraseGone(uint64_t id);

  const int epoll_;
  BareCalls* const bare_calls_;
  CallTurns* const turns_;
  Metrics* const metrics_;
  const absl::Duration age_;
  const absl::Duration grace_;
  absl::flat_hash_map<uint64_t, Entry> entries_;
  ConnectionLimits limits_;
  absl::flat_hash_set<uint64_t> resting_;           // paused by their guards
  std::set<std::pair<absl::Time, uint64_t>> ages_;  // Entry::leaves, id
  std::deque<uint64_t> gone_;  // in the order in which their clients went
  LogLimit abuse_log_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_CONNECTION_TABLE_H_
