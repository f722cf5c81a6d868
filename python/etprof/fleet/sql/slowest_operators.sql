-- Types of operators by their share of each model's time
WITH operators_of_classes AS (
  SELECT model, type, group_name, key, device_class, sum(self_ns) AS self_ns, sum(runs) AS runs
  FROM operators
  GROUP BY ALL
)
SELECT
  model,
  type,
  group_name,
  sum(self_ns) / sum(sum(self_ns)) OVER (PARTITION BY model) AS share,
  sum(self_ns) / sum(runs) AS mean_self_ns,
  count(DISTINCT key) AS operators,
  count(DISTINCT device_class) AS device_classes
FROM operators_of_classes
GROUP BY model, type, group_name
ORDER BY model, share DESC, type;
