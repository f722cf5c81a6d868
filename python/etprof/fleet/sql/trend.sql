-- Latency by day, model, and device class; each device counts once per day
WITH devices AS (
  SELECT day, model, configuration, device_class, device, avg(ln(median_ns)) AS log_ns
  FROM launches
  WHERE median_ns > 0 AND NOT emulated
  GROUP BY ALL
)
SELECT
  day,
  model,
  configuration,
  device_class,
  exp(avg(log_ns)) / 1e6 AS latency_ms,
  count(device) AS devices
FROM devices
GROUP BY day, model, configuration, device_class
ORDER BY model, configuration, device_class, day;
