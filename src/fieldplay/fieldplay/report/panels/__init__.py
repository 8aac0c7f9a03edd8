"""A module for each family of messages: what it keeps of them, and how it draws them."""
