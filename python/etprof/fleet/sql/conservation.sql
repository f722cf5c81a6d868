-- Launches whose operators do not add up to their total: there must be none
WITH summed AS (
  SELECT run, experiment, launch, sum(self_ns)::BIGINT AS self_ns
  FROM operators
  GROUP BY ALL
)
SELECT run, experiment, launch, traced_ns, self_ns
FROM launches
FULL JOIN summed USING (run, experiment, launch)
WHERE coalesce(traced_ns, -1) <> coalesce(self_ns, 0)
ORDER BY ALL;
