"""`heard settings`: every setting's value and its source."""

import typer

app = typer.Typer()


@app.command()
def settings() -> None:
    """Show each setting, its value, and its source: a variable, settings.toml, or the default. Secrets are hidden."""
    from heard.chat_app.common.settings import Settings, load_settings, printable_value, setting_sources

    values, origin = load_settings(), setting_sources()
    rows = [(name, printable_value(values, name), origin[name]) for name in Settings.model_fields]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, value, source in rows:
        typer.echo(f"{name:{widths[0]}}  {value:{widths[1]}}  {source}")
