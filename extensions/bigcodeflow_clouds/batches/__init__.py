"""Batch APIs of Anthropic, Google, Mistral and OpenAI, and what drives them: no batch is lost or paid twice."""
