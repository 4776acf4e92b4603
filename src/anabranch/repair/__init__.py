"""Corrects exactly what an audit has found."""
