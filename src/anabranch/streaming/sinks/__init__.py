"""Where results go: one file for each kind of sink."""
