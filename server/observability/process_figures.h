#ifndef TRIVIUM_SERVER_OBSERVABILITY_PROCESS_FIGURES_H_
#define TRIVIUM_SERVER_OBSERVABILITY_PROCESS_FIGURES_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace trivium {

// Metrics of this process from /proc, read at every scrape: those that
// Prometheus' own client libraries export as process_*.
class ProcessFigures : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_PROCESS_FIGURES_H_
