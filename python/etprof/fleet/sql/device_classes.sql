-- Latency of each model by device class and version; each device counts once
WITH devices AS (
  SELECT model, configuration, device_class, version, device,
    avg(ln(median_ns)) AS log_ns, count(*) AS launches
  FROM launches
  WHERE median_ns > 0 AND NOT emulated
  GROUP BY ALL
)
SELECT
  model,
  configuration,
  device_class,
  version,
  exp(avg(log_ns)) / 1e6 AS latency_ms,
  exp(stddev_samp(log_ns)) - 1 AS spread_of_devices,
  count(device) AS devices,
  sum(launches)::BIGINT AS launches
FROM devices
GROUP BY model, configuration, device_class, version
ORDER BY model, configuration, device_class, version;
