"""anabranch demo."""
