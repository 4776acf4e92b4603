"""Operate joins: it inspects the world, has core decide, and acts. The only room that knows both flow and world."""
