// The server's page: Prometheus' text format, and rates and times of it.

// Returns the samples of a page of metrics: {name: [{labels, value}]}.
function parseMetrics(text) {
  const samples = new Map();
  for (const line of text.split('\n')) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = value.replace(/\\(.)/g, (_, c) => c === 'n' ? '\n' : c);
    }
    if (!samples.has(found[1])) samples.set(found[1], []);
    samples.get(found[1]).push({labels, value: Number(found[3].replace('Inf', 'Infinity'))});
  }
  return samples;
}

// Returns the sum of the samples of a name that `takes` accepts.
function sumOf(samples, name, takes = () => true) {
  let sum = 0;
  for (const {labels, value} of samples.get(name) || []) {
    if (takes(labels)) sum += value;
  }
  return sum;
}

// Returns a quantile of what a histogram counted between two pages, by linear
// interpolation within a bucket, as Prometheus' histogram_quantile. NaN: nothing
// was counted.
function quantile(now, before, name, part, takes = () => true) {
  const buckets = new Map();  // upper bound -> how many are not above it
  for (const [page, sign] of [[now, 1], [before, -1]]) {
    for (const {labels, value} of page.get(name + '_bucket') || []) {
      if (!takes(labels)) continue;
      const bound = Number(labels.le.replace('Inf', 'Infinity'));
      buckets.set(bound, (buckets.get(bound) || 0) + sign * value);
    }
  }
  const bounds = [...buckets].sort((a, b) => a[0] - b[0]);
  const all = bounds.length ? bounds.at(-1)[1] : 0;
  if (all <= 0) return NaN;
  const rank = part * all;
  let below = 0, low = 0;
  for (const [bound, here] of bounds) {
    if (here >= rank) {
      if (!isFinite(bound)) return low;
      return low + (bound - low) * (rank - below) / Math.max(here - below, 1e-9);
    }
    below = here;
    low = bound;
  }
  return low;
}
