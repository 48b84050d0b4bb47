"""The words that the harness and the executor exchange.

The executor writes one job, as JSON, to the harness's standard input and closes it. The harness answers on a pipe of
its own with frames, one JSON object a line, each carrying the job's nonce and a running number:

``started``  the interpreter is up and the limits are set; nothing foreign has run yet
``loaded``   program and test were imported; ``tests`` lists the collected methods
``module_failed``  they were not: ``exception``, ``trace``, ``phase`` (compile, program, test or collect); the last one
``test``     one method ended: ``name``, ``outcome``, ``seconds``, ``exception``, ``missing_module``, ``trace``
``class_failed``   setUpClass or tearDownClass raised
``tampering``      ``what`` was seen that no honest program does
``end``      everything ran; the last frame

The last frame also tells ``cpu_seconds`` and ``max_rss_mib`` of the process and its children.
"""

LAST_EVENTS = ("end", "module_failed")

#: Bump when the harness may judge the same program differently: cached verdicts of older versions are not reused.
HARNESS_VERSION = 1

#: Longest traceback that travels, in characters; the tail says what went wrong.
TRACE_CHARACTERS = 16_000

#: Longest frame that the executor accepts, in bytes.
FRAME_BYTES = 1 << 20
