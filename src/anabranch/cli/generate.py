"""x"""
import typer


def generate(context: typer.Context) -> None:
    """x"""
