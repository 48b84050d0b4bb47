-- Grain: one row a dataset artifact and task: its facts, without its texts.
select artifact, task_id, position, hard, libs, domains
from fresh
