-- Launches whose operators do not add up to their total: there must be none
WITH summed AS (
  SELECT coalesce(day::VARCHAR, '') AS day, model, run, experiment, launch, sum(self_ns)::BIGINT AS self_ns
  FROM operators
  GROUP BY ALL
),
totals AS (
  SELECT coalesce(day::VARCHAR, '') AS day, model, run, experiment, launch, traced_ns
  FROM launches
)
SELECT day, model, run, experiment, launch, traced_ns, self_ns
FROM totals
FULL JOIN summed USING (day, model, run, experiment, launch)
WHERE coalesce(traced_ns, -1) <> coalesce(self_ns, 0)
ORDER BY ALL;
