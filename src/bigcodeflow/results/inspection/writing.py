"""A story as Markdown."""

from bigcodeflow.core.display_text import markdown_block, markdown_text
from bigcodeflow.results.inspection.stories import Story
from bigcodeflow.results.inspection.wording import Passage, passages


def story_markdown(story: Story) -> str:
    """The whole story, with every foreign text in a fence that it cannot end."""
    parts = [f"# {markdown_text(story.title)}", *map(_passage, passages(story))]
    return "\n\n".join(parts) + "\n"


def _passage(passage: Passage) -> str:
    title = f"## {markdown_text(passage.title)}"
    if passage.form == "sentence":
        return f"{title}\n\n{markdown_text(passage.text)}"
    return f"{title}\n\n{markdown_block(passage.text, '' if passage.form == 'text' else passage.form)}"
