-- Grain: one row a task that the dataset files $first and $second judge by other tests.
select task_id
from read_parquet($first, hive_partitioning = false) as one
join read_parquet($second, hive_partitioning = false) as other using (task_id)
where one.test <> other.test
