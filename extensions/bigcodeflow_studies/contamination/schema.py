"""Schema of the study's result: texts of tasks that a corpus contains."""

import pyarrow as pa

from bigcodeflow.core.schemas import COUNT, TEXT, column, nullable, study_schema

CONTAMINATION = study_schema(
    "task",
    column("task_id", TEXT, "the task whose texts were looked for"),
    column("ngrams", COUNT, "n-grams of prompts, solution and test, common ones left out"),
    column("ngram_share", pa.float64(), "share of these that the corpus holds, 0..1; 0 where there are none"),
    nullable("prompt_share", pa.float64(), "the same of the two prompts; null: they have no such n-gram"),
    nullable("solution_share", pa.float64(), "the same of the canonical solution"),
    nullable("test_share", pa.float64(), "the same of the test"),
    column("longest_match", COUNT, "words of the longest passage that stands in the corpus too; 0: none of n"),
    column("longest_part", TEXT, "column of the task that has it; empty where there is none, as the next five"),
    column("longest_file", TEXT, "file of the corpus"),
    column("longest_record", TEXT, "line, row or part of the file, 1-based, with the field where it has some"),
    column("longest_offset", pa.int64(), "0-based character within the record; -1 where there is none"),
    column("longest_text", TEXT, "the passage in the corpus"),
    column("longest_task_text", TEXT, "the passage in the task"),
    column("fuzzy_score", pa.float64(), "similarity of a whole text of the task and the best place, in words, 0..1"),
    column("fuzzy_part", TEXT, "column of the task that has it; empty where nothing is, as the next five"),
    column("fuzzy_file", TEXT, "file of the corpus"),
    column("fuzzy_record", TEXT, "as longest_record"),
    column("fuzzy_offset", pa.int64(), "0-based character within the record; -1 where there is none"),
    column("fuzzy_text", TEXT, "that place of the corpus, cut at 2,000 characters"),
    column("fuzzy_task_text", TEXT, "the text of the task, cut at 2,000 characters"),
    column("contaminated", pa.bool_(), "ngram_share or fuzzy_score reaches its threshold"),
)
