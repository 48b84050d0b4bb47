"""Code that tests of a function are not expected to observe: messages, logs, the look of plots, seeds, clean-up.

A change there does not show how thorough a test is, even if the test notices it.
"""

import ast
import re
from collections.abc import Iterator

from bigcodeflow.core.source_text import called_name

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
_CLEANUP_CALLS = frozenset({"close", "flush", "terminate", "shutdown", "clf", "cla", "disconnect"})
_NEUTRAL_KEYWORDS = frozenset({"random_state", "seed", "timeout", "encoding", "newline", "verbose", "n_jobs", "flush"})


def unobserved_nodes(tree: ast.Module) -> set[int]:
    """Return the ids of the nodes of a tree that tests need not observe."""
    return {id(part) for node in ast.walk(tree) for root in _roots(node) for part in ast.walk(root)}


def _roots(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the subtrees at a node that tests need not observe."""
    match node:
        case ast.Expr(value=ast.Call() as call) if _is_unobserved(call):
            yield node
        case ast.Raise(exc=ast.Call(args=arguments, keywords=keywords)):
            yield from (*arguments, *keywords)
        case ast.Call(keywords=keywords):
            name, owner = called_name(node), _owner(node.func)
            if name in _SEED_CALLS or name == "print" or owner in _LOG_OBJECTS:
                yield node
            is_of_plots = name in _PLOT_CALLS or _DRAWS.fullmatch(name) or _PLOT_OWNERS.fullmatch(owner)
            unobserved = _NEUTRAL_KEYWORDS | (_PLOT_KEYWORDS if is_of_plots else frozenset())
            yield from (keyword for keyword in keywords if keyword.arg in unobserved)


def _is_unobserved(call: ast.Call) -> bool:
    """Tell if tests need not observe a statement that is a call."""
    name, owner = called_name(call), _owner(call.func)
    is_of_plots = name in _PLOT_CALLS and bool(_PLOT_OWNERS.fullmatch(owner) or name.startswith("set_"))
    return name == "print" or owner in _LOG_OBJECTS or name in _CLEANUP_CALLS | _SEED_CALLS or is_of_plots


def _owner(function: ast.expr) -> str:
    """Return the first name of a dotted expression: 'plt' of plt.figure, 'ax' of ax[0].set_title."""
    node: ast.AST = function
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) and node is not function else ""
