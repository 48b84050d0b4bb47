"""How many examples a property test draws: a quarter by default, all of them in the suite ``properties`` of CI."""

import os

IS_THOROUGH = "BIGCODEFLOW_TEST_ALL_EXAMPLES" in os.environ


def examples(most: int) -> int:
    """Number of examples for a test that draws ``most`` of them in the suite of properties."""
    return most if IS_THOROUGH else -(-most // 4)
