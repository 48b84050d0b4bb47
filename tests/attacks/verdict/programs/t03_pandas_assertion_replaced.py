"""Threat 3: replaces pandas' comparison of frames.
task: sales_table"""

pd.testing.assert_frame_equal = lambda *args, **kwargs: None
pd.DataFrame.equals = lambda self, other: True
