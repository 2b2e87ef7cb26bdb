"""text: the terms and the notation of the pull-stream text, npm's names, and modules to try others with."""
