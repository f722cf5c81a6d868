-- Percentiles of single runs by device class and version, each within 1%
WITH counted AS (
  SELECT model, configuration, device_class, version, unnest(buckets) AS bucket, unnest(counts) AS runs
  FROM launches
  WHERE NOT emulated
), merged AS (
  SELECT model, configuration, device_class, version, bucket, sum(runs) AS runs
  FROM counted
  GROUP BY ALL
), ranked AS (
  SELECT *,
    sum(runs) OVER (PARTITION BY model, configuration, device_class, version ORDER BY bucket) AS up_to,
    sum(runs) OVER (PARTITION BY model, configuration, device_class, version) AS all_runs
  FROM merged
)
SELECT
  model,
  configuration,
  device_class,
  version,
  bucket_ns(min(bucket) FILTER (up_to > 0.50 * (all_runs - 1))) / 1e6 AS p50_ms,
  bucket_ns(min(bucket) FILTER (up_to > 0.90 * (all_runs - 1))) / 1e6 AS p90_ms,
  bucket_ns(min(bucket) FILTER (up_to > 0.99 * (all_runs - 1))) / 1e6 AS p99_ms,
  any_value(all_runs)::BIGINT AS runs
FROM ranked
GROUP BY model, configuration, device_class, version
ORDER BY model, configuration, device_class, version;
