"""Code that tests of a function are not expected to observe: messages, logs, the look of plots, seeds, clean-up.

A change there does not show how thorough a test is, even if the test notices it.
"""

import ast
import re
from collections.abc import Callable, Iterator

from bigcodeflow.core.source_text import called_name

MESSAGES, LOGS, PLOTS, SEEDS, CLEANUP = "messages", "logs", "plot appearance", "random seeds", "clean-up"

_LOG_OBJECTS = frozenset({"logging", "logger", "log", "warnings"})
_PLOT_CALLS = frozenset(
    """set_title set_xlabel set_ylabel set_zlabel title xlabel ylabel suptitle legend grid tight_layout figure show
    xticks yticks tick_params set_xticks set_yticks set_xticklabels set_yticklabels set_xlim set_ylim xlim ylim
    axis annotate colorbar subplots_adjust set_style set_theme set rcParams axhline axvline text
    """.split()  # noqa: SIM905 -- as a list it takes a screen
)
_PLOT_OWNERS = re.compile(r"plt|pyplot|sns|seaborn|matplotlib|ax(es|s)?\d*|fig(ure)?\d*")
_DRAWS = re.compile(
    r"\w*plot\w*|hist\w*|barh?|scatter|pie|heatmap|imshow|matshow|fill_between|contourf?|errorbar|savefig"
)
_PLOT_KEYWORDS = frozenset(
    """color colors cmap alpha figsize linewidth linestyle marker edgecolor facecolor fontsize rotation label
    interpolation palette lw ls ha va rwidth autopct startangle markersize annot fmt dpi cbar title
    xlabel ylabel legend grid rot""".split()  # noqa: SIM905 -- as above
)
_SEED_CALLS = frozenset({"seed", "default_rng", "RandomState", "manual_seed", "set_seed"})
_SEED_KEYWORDS = frozenset({"random_state", "seed"})
_CLEANUP_CALLS = frozenset({"close", "flush", "terminate", "shutdown", "clf", "cla", "disconnect"})
_NEUTRAL_KEYWORDS = frozenset({"timeout", "encoding", "newline", "verbose", "n_jobs", "flush"})


def reason_apart(tree: ast.Module) -> Callable[[ast.AST], str]:
    """Return a function that gives the reason why tests need not observe a node of the tree; empty if they should."""
    reasons: dict[int, str] = {}
    for node in ast.walk(tree):
        for root, reason in _roots(node):
            for part in ast.walk(root):
                reasons.setdefault(id(part), reason)
    return lambda node: reasons.get(id(node), "")


def _roots(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield the subtrees at a node that tests need not observe, each with its reason."""
    match node:
        case ast.Expr(value=ast.Call() as call) if reason := _of_call(call):
            yield node, reason
        case ast.Raise(exc=ast.Call(args=arguments, keywords=keywords)):
            yield from ((one, MESSAGES) for one in (*arguments, *keywords))
        case ast.Call():
            name, owner = called_name(node), _owner(node.func)
            if name in _SEED_CALLS:
                yield node, SEEDS
            is_of_plots = name in _PLOT_CALLS or _DRAWS.fullmatch(name) or _PLOT_OWNERS.fullmatch(owner)
            for keyword in node.keywords:
                if keyword.arg in _SEED_KEYWORDS:
                    yield keyword, SEEDS
                elif keyword.arg in _PLOT_KEYWORDS and is_of_plots:
                    yield keyword, PLOTS
                elif keyword.arg in _NEUTRAL_KEYWORDS:
                    yield keyword, CLEANUP
            if name == "print" or owner in _LOG_OBJECTS:
                yield node, LOGS


def _of_call(call: ast.Call) -> str:
    name, owner = called_name(call), _owner(call.func)
    if name == "print" or owner in _LOG_OBJECTS:
        return LOGS
    if name in _CLEANUP_CALLS:
        return CLEANUP
    if name in _SEED_CALLS:
        return SEEDS
    if name in _PLOT_CALLS and (_PLOT_OWNERS.fullmatch(owner) or name.startswith("set_")):
        return PLOTS
    return ""


def _owner(function: ast.expr) -> str:
    """Return the first name of a dotted expression: 'plt' of plt.figure, 'ax' of ax[0].set_title."""
    node: ast.AST = function
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) and node is not function else ""
