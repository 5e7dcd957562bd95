#!/usr/bin/env python3
"""Writes dashboards/trivium.json, the dashboard of a fleet of servers:

    deploy/grafana/make_dashboard.py > deploy/grafana/dashboards/trivium.json

Each panel is a few lines of ROWS; panel() adds what all panels share.
tests/deploy/dashboard_test.py runs every query against a real Prometheus.
"""

import json

# Selects what the dashboard's variables choose.
INSTANCE = 'instance=~"$instance"'
MODEL = INSTANCE + ',model=~"$model"'
COLUMNS = 24
HEIGHT = 8


def rate(name, labels=MODEL, by=""):
    """A counter's rate per second, summed over all labels except `by`."""
    return (f"sum by ({by}) " if by else "sum") + \
        f"(rate({name}{{{labels}}}[$__rate_interval]))"


def quantile(q, name, by=""):
    """The quantile `q` of a histogram of times or sizes."""
    return f"histogram_quantile({q}, " + \
        rate(name + "_bucket", by=f"le, {by}" if by else "le") + ")"


def quantiles(name, *shares):
    """Targets for several quantiles of a histogram: p50, p99..."""
    return [(quantile(share, name), f"p{100 * share:g}") for share in shares]


def mean(name, by=""):
    return rate(name + "_sum", by=by) + " / " + rate(name + "_count", by=by)


# Errors that are not the client's mistake.
FAILURES = ('code=~"ABORTED|DATA_LOSS|DEADLINE_EXCEEDED|INTERNAL|'
            'RESOURCE_EXHAUSTED|UNAVAILABLE|UNKNOWN"')

# Title of a row: [(title, unit, columns, [(query, legend)], description)].
ROWS = {
    "Calls": [
        ("Calls a second", "reqps", 8,
         [(rate("trivium_requests_total", by="rpc"), "{{rpc}}")],
         "Calls that ended, with or without success."),
        ("Errors a second", "reqps", 8,
         [(rate("trivium_errors_total", by="code"), "{{code}}")],
         "Calls that ended with an error, by status code."),
        ("Calls that the server failed", "percentunit", 4,
         [(rate("trivium_errors_total", MODEL + "," + FAILURES) + " / "
           + rate("trivium_request_duration_seconds_count"), "failed")],
         "Share of calls that were refused, late or failed; mistakes of "
         "clients do not count."),
        ("Calls in flight", "short", 4,
         [(f"sum by (rpc) (trivium_requests_in_flight{{{INSTANCE}}})",
           "{{rpc}}")],
         "Calls that run now, of all models."),
    ],
    "Latency": [
        ("All calls", "s", 8,
         quantiles("trivium_request_duration_seconds", 0.5, 0.95, 0.99),
         "Time from a call's arrival to its answer."),
        ("By call, p99", "s", 8,
         [(quantile(0.99, "trivium_request_duration_seconds", "rpc"),
           "{{rpc}}")],
         "Time from a call's arrival to its answer."),
        ("By call, mean", "s", 8,
         [(mean("trivium_request_duration_seconds", "rpc"), "{{rpc}}")],
         "Time from a call's arrival to its answer."),
        ("First token", "s", 8,
         quantiles("trivium_time_to_first_token_seconds", 0.5, 0.95, 0.99),
         "Time from admission to the first new token."),
        ("Between tokens", "s", 8,
         quantiles("trivium_time_between_tokens_seconds", 0.5, 0.95, 0.99),
         "Time between two new tokens of a request."),
        ("One iteration", "s", 8,
         quantiles("trivium_iteration_duration_seconds", 0.5, 0.99),
         "Time of one worker for one iteration: a token for each request that "
         "it works on."),
    ],
    "Tokens": [
        ("Tokens a second", "short", 8,
         [(rate("trivium_tokens_total", by="kind"), "{{kind}}")],
         "Tokens of answered requests, read and written."),
        ("Texts a second", "short", 4,
         [(rate("trivium_texts_total", by="model"), "{{model}}"),
          (rate("trivium_truncated_texts_total"), "cut")],
         "Texts answered, and texts that were cut because they were longer "
         "than the model reads."),
        ("Tokens of a text", "short", 6,
         quantiles("trivium_input_tokens", 0.5, 0.99),
         "Tokens of a text or a prompt."),
        ("New tokens of a text", "short", 6,
         quantiles("trivium_output_tokens", 0.5, 0.99),
         "New tokens of all hypotheses of a text."),
    ],
    "Queue and batches": [
        ("Wait in the queue", "s", 8,
         quantiles("trivium_queue_wait_seconds", 0.5, 0.9, 0.99),
         "Time from admission to the first iteration."),
        ("Waiting tokens", "short", 8,
         [(f"sum by (instance) (trivium_queue_tokens{{{MODEL}}})",
           "{{instance}}"),
          (f'max(trivium_limit{{{INSTANCE},limit="max-waiting-tokens"}})',
           "limit of a server")],
         "Source tokens and possible new tokens of waiting requests. Beyond "
         "--max-waiting-tokens calls are refused."),
        ("Requests", "short", 8,
         [(f"sum(trivium_queue_requests{{{MODEL}}})", "waiting"),
          (f"sum(trivium_running_requests{{{MODEL}}})", "running")],
         "Requests that wait for a worker, and requests that run."),
        ("Batch fill", "short", 8,
         [(mean("trivium_iteration_requests"), "requests, mean"),
          (quantile(0.95, "trivium_iteration_requests"), "requests, p95"),
          (mean("trivium_iteration_rows", "phase"), "{{phase}} rows, mean")],
         "Requests that share an iteration, and rows of its matrix products."),
        ("Where workers' time goes", "short", 8,
         [(rate("trivium_phase_seconds_total", by="phase"), "{{phase}}")],
         "Seconds per second, summed over all workers."),
        ("Encoded once for several", "short", 4,
         [(rate("trivium_shared_sources_total"), "sources")],
         "Requests whose source had been encoded for another request."),
        ("Rows that only pad", "percentunit", 4,
         [(rate("trivium_padding_rows_total") + " / "
           + rate("trivium_iteration_rows_sum"), "padding")],
         "Share of the rows that only pad a product; 0 if products need no "
         "padding."),
    ],
    "Caches and speculation": [
        ("KV cache in use", "percentunit", 8,
         [(f"sum by (instance) (trivium_kv_blocks_used{{{MODEL}}}) / "
           f"sum by (instance) (trivium_kv_blocks_capacity{{{MODEL}}})",
           "{{instance}}")],
         "Blocks of keys and values that requests hold."),
        ("Requests put back", "short", 4,
         [(rate("trivium_suspensions_total"), "a second")],
         "Requests suspended because KV blocks were short. They continue "
         "later, with the same answer."),
        ("Found in the prefix cache", "short", 6,
         [(rate("trivium_prefix_tokens_found_total"), "tokens a second"),
          (rate("trivium_prefix_hits_total"), "beginnings a second")],
         "Tokens that were not read again, since their keys and values were "
         "cached."),
        ("Guesses that were right", "percentunit", 6,
         [(rate("trivium_accepted_tokens_total") + " / "
           + rate("trivium_drafted_tokens_total"), "accepted")],
         "Share of the drafted tokens that were right."),
        ("Drafted tokens a second", "short", 8,
         [(rate("trivium_drafted_tokens_total"), "drafted"),
          (rate("trivium_accepted_tokens_total"), "accepted")],
         "Tokens that speculation drafted, and those of them that were "
         "right."),
        ("Result cache: hits", "percentunit", 8,
         [(rate("trivium_result_cache_hits_total") + " / ("
           + rate("trivium_result_cache_hits_total") + " + "
           + rate("trivium_result_cache_misses_total") + ")", "hits")],
         "Share of the requests that were found; empty without "
         "--result-cache-bytes."),
        ("Result cache: size", "bytes", 8,
         [(f"sum by (instance) (trivium_result_cache_bytes{{{INSTANCE}}})",
           "{{instance}}")],
         "Memory that cached results use."),
    ],
    "Refusals": [
        ("Refused calls a second", "reqps", 8,
         [(rate("trivium_rejections_total", by="reason"), "{{reason}}")],
         "Calls refused at admission: the queue is full, the answer would be "
         "late, the server is stopping, or no worker could ever run it."),
        ("Deadlines missed a second", "short", 8,
         [(rate("trivium_deadlines_missed_total", by="stage"), "{{stage}}")],
         "Requests dropped at their deadline while they waited or ran."),
        ("Actions on short memory", "short", 8,
         [(f"max(trivium_overload_stage{{{INSTANCE}}})", "stage"),
          (rate("trivium_overload_actions_total", INSTANCE, "action"),
           "{{action}} a second")],
         "Stage 1: large requests wait; 2: they are refused; 3: calls are "
         "ended."),
        ("Not a number", "short", 8,
         [(rate("trivium_not_finite_total", by="model"), "{{model}}")],
         "Requests answered INTERNAL because the model computed infinite "
         "values or NaN."),
        ("Connections", "short", 8,
         [(f"sum(trivium_connections{{{INSTANCE}}})", "open"),
          (rate("trivium_connections_ended_total", INSTANCE, "reason"),
           "{{reason}} a second")],
         "Open connections, and connections that the server ended."),
    ],
    "Process": [
        ("CPU", "short", 8,
         [(f"sum by (instance) (rate(process_cpu_seconds_total{{{INSTANCE}}}"
           "[$__rate_interval]))", "{{instance}}")],
         "Cores in use."),
        ("Memory", "bytes", 8,
         [(f"sum by (instance) (trivium_memory_bytes{{{INSTANCE}}})",
           "{{instance}}"),
          (f"sum by (instance) (process_resident_memory_bytes{{{INSTANCE}}})",
           "{{instance}} with mapped files"),
          (f"min(trivium_memory_limit_bytes{{{INSTANCE}}})",
           "limit of a server")],
         "Memory that counts against the limit, and the same with mapped "
         "files."),
        ("Held for clients", "bytes", 8,
         [(f"sum by (kind) (trivium_held_bytes{{{INSTANCE}}})", "{{kind}}")],
         "Memory of requests and answers in transit."),
        ("Files and threads", "short", 8,
         [(f"sum by (instance) (process_open_fds{{{INSTANCE}}})",
           "{{instance}} files"),
          (f"sum by (instance) (process_threads{{{INSTANCE}}})",
           "{{instance}} threads")],
         "Open files and running threads."),
        ("Up", "dtdurations", 8,
         [(f"time() - process_start_time_seconds{{{INSTANCE}}}"
           " and on (instance) trivium_build_info", "{{instance}}")],
         "Time since the process started."),
        ("Models", "short", 8,
         [("count by (model, family, precision, isa) "
           f"(trivium_model_info{{{MODEL}}})",
           "{{model}}: {{family}}, {{precision}}, {{isa}}")],
         "Servers that serve each model."),
    ],
}

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def panel(number, place, title, unit, targets, description):
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {"unit": unit, "min": 0,
                         "custom": {"fillOpacity": 10,
                                    "showPoints": "never"}},
            "overrides": []},
        "options": {"legend": {"displayMode": "list",
                               "placement": "bottom"},
                    "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [{"refId": chr(ord("A") + i), "datasource": DATASOURCE,
                     "expr": query, "legendFormat": legend}
                    for i, (query, legend) in enumerate(targets)],
    }


def panels():
    made = []
    y = 0
    for row, members in ROWS.items():
        made.append({"id": len(made) + 1, "type": "row", "title": row,
                     "collapsed": False, "panels": [],
                     "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}})
        y += 1
        x = 0
        for title, unit, width, targets, description in members:
            if x + width > COLUMNS:
                x = 0
                y += HEIGHT
            made.append(panel(len(made) + 1,
                              {"x": x, "y": y, "w": width, "h": HEIGHT},
                              title, unit, targets, description))
            x += width
        y += HEIGHT
    return made


def variable(name, label, **more):
    """A choice of values of the label `name`; all if none is chosen."""
    query = f"label_values(trivium_batch_invariant, {name})"
    return {"name": name, "label": label, "type": "query",
            "datasource": DATASOURCE,
            "query": {"query": query, "refId": name}, "definition": query,
            "refresh": 2, "sort": 1, "multi": True, "includeAll": True,
            "current": {"text": ["All"], "value": ["$__all"]}, **more}


def dashboard():
    return {
        "uid": "trivium",
        "title": "Trivium",
        "description": "Trivium servers: calls, latency, tokens, queue, "
                       "batches, caches, refusals and the process.",
        "tags": ["trivium"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "timepicker": {},
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": [
            {"name": "datasource", "label": "Prometheus",
             "type": "datasource", "query": "prometheus", "current": {}},
            variable("instance", "Server"),
            # ".*" includes calls without a model.
            variable("model", "Model", allValue=".*"),
        ]},
        "panels": panels(),
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
