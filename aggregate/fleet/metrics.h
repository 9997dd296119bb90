/* The newest session of a host as OpenMetrics text, for node_exporter's textfile collector. */
#pragma once

#include <stdio.h>

struct pp_fleet_job;

/* All of it, to "# EOF". Only gauges, which readers of Prometheus' older text format know too. */
void pp_metrics_write(const struct pp_fleet_job *job, FILE *to);
