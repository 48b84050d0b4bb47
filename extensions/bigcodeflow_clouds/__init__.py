"""Plug-in: models of Anthropic and Google, OpenAI's Responses API, Azure, Bedrock, Vertex AI, and batch APIs."""

from bigcodeflow.generation.providers import ProviderInfo

ANTHROPIC = ProviderInfo("bigcodeflow_clouds.anthropic:AnthropicProvider", ("ANTHROPIC_API_KEY",))
AZURE = ProviderInfo(
    "bigcodeflow_clouds.azure:AzureProvider",
    ("AZURE_OPENAI_API_KEY",),
    needs_key=False,
    several_answers=True,
    own_address="https://NAME.openai.azure.com",
    extra="azure",
)
BEDROCK = ProviderInfo("bigcodeflow_clouds.bedrock:BedrockProvider", needs_key=False, extra="bedrock")
GOOGLE = ProviderInfo(
    "bigcodeflow_clouds.google:GoogleProvider",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    several_answers=True,
    extra="google",
)
OPENAI_RESPONSES = ProviderInfo("bigcodeflow_clouds.responses:ResponsesProvider", ("OPENAI_API_KEY",))
VERTEX = ProviderInfo("bigcodeflow_clouds.vertex:VertexProvider", needs_key=False, several_answers=True, extra="google")
