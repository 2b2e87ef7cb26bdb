"""meeting: pull-stream beside `for`, asyncio and Reactive Streams."""
