"""The command line: each command is inspect, plan, show, confirm, apply. Nothing is decided here.

Modules here import only typer and the standard library at their top; what a command needs it imports when it runs, so that
`anabranch --help` answers at once.
"""
