"""x"""
import typer


def doctor(context: typer.Context) -> None:
    """x"""
