"""Evolution: results of tasks and of models' programs under newer libraries than the benchmark's."""
