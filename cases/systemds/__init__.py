"""Scripts, and what Apache SystemDS answers to them."""
