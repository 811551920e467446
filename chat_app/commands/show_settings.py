"""`heard settings`: every setting in force and where it comes from."""

import typer

app = typer.Typer()


@app.command()
def settings() -> None:
    """Show each setting, its value, and its source: a variable, settings.toml, or the default. Secrets are hidden."""
    from heard.chat_app.common.settings import Settings, load_settings, shown, sources

    given, origin = load_settings(), sources()
    rows = [(name, shown(given, name), origin[name]) for name in Settings.model_fields]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, value, source in rows:
        typer.echo(f"{name:{widths[0]}}  {value:{widths[1]}}  {source}")
