"""The wire format of Bedrock's Converse."""
