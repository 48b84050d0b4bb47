-- Grain: one row an artifact, variant, sanitizer, slice, metric and k: metrics.
select owners.model, figures.*
from stored.metrics as figures left join stored.owners using (artifact)
