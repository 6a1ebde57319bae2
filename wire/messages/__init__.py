"""The messages, one file per API: request and response, in all their versions."""
