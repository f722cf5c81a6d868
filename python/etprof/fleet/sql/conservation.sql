-- Launches whose operators do not add up to their total: there must be none
WITH summed AS (
  SELECT day, model, run, experiment, launch, sum(self_ns)::BIGINT AS self_ns
  FROM operators
  GROUP BY ALL
)
SELECT day, model, run, experiment, launch, traced_ns, self_ns
FROM launches
FULL JOIN summed USING (day, model, run, experiment, launch)
WHERE coalesce(traced_ns, -1) <> coalesce(self_ns, 0)
ORDER BY ALL;
