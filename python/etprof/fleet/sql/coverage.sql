-- Runs, devices, and launches by day and version, with the share of launches that had clean runs
SELECT
  day,
  version,
  count(DISTINCT run) AS runs,
  count(DISTINCT device) AS devices,
  count(*) AS launches,
  count(median_ns) / count(*) AS clean_launches
FROM launches
GROUP BY day, version
ORDER BY day, version;
