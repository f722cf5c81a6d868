-- Runs that the fleet has more than once: there must be none; `etprof fleet compact` removes them
SELECT run, experiment, count(*) AS times
FROM runs
GROUP BY run, experiment
HAVING count(*) > 1
ORDER BY run, experiment;
