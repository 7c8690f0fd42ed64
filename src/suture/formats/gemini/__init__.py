"""Google Gemini's generateContent."""
