"""Programs for those who work on Anabranch; they are not installed with it."""
