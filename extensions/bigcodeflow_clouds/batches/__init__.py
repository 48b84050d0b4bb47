"""Batch APIs of Anthropic, Google, Mistral and OpenAI, and their driver, which loses no batch and pays none twice."""
