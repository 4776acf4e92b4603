"""Where files are kept: a checkpoint's storage, the files beside it, and the formats of what we write and read again."""
