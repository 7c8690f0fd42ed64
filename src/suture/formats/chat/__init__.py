"""The form of Chat Completions, which OpenAI's copies and Mistral share: read, written and checked by data of each."""
