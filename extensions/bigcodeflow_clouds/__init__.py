"""Plug-in: models in Azure, Bedrock and Vertex AI, and the batch APIs of Google and Mistral."""

from bigcodeflow.generation.providers import ProviderInfo

AZURE = ProviderInfo(
    "bigcodeflow_clouds.azure:AzureProvider",
    ("AZURE_OPENAI_API_KEY",),
    needs_key=False,
    several_answers=True,
    own_address="https://NAME.openai.azure.com",
    extra="azure",
)
BEDROCK = ProviderInfo("bigcodeflow_clouds.bedrock:BedrockProvider", needs_key=False, extra="bedrock")
VERTEX = ProviderInfo("bigcodeflow_clouds.vertex:VertexProvider", needs_key=False, several_answers=True, extra="google")
