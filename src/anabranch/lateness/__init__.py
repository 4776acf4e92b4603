"""Which watermark delay would have counted how many of the records that a pipeline has read."""
