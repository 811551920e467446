"""`heard study ...`: a study from its file to its votes and its end. Each command is in a file of its own idea."""

import typer

from heard.chat_app.commands.study_access import access, invite, pause, resume, revoke
from heard.chat_app.commands.study_anonymise import anonymise
from heard.chat_app.commands.study_ask_model import ask_model
from heard.chat_app.commands.study_generate import generate
from heard.chat_app.commands.study_held import admit, held_back
from heard.chat_app.commands.study_import import import_study
from heard.chat_app.commands.study_people import exclude, include, people
from heard.chat_app.commands.study_phases import pilot, preview, reset
from heard.chat_app.commands.study_power import power
from heard.chat_app.commands.study_preregister import open_results, preregister
from heard.chat_app.commands.study_reasons import coded, reasons
from heard.chat_app.commands.study_running import end, release, status

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Blind votes: make a study, write its answers, see how far it is.\n\n"
        "A study is one TOML file; docs/studies.md explains every line of it and docs/example-study has one to copy. "
        "A survey: `heard study import STUDY.toml ITEMS.csv`, then `heard study generate STUDY.toml` for the answers "
        "of its arms, then `heard chat` and the link that the commands print. A live study needs only "
        "`heard study import STUDY.toml` and the setting blind_study."
    ),
)
app.command("import")(import_study)
app.command("ask-model")(ask_model)
app.command("held-back")(held_back)
for command in (
    admit, generate, preview, pilot, reset, status, people, exclude, include, invite, revoke, access, pause, resume,
    end, release,
):  # fmt: skip
    app.command()(command)
app.command()(power)
app.command()(preregister)
app.command()(open_results)
app.command()(anonymise)
app.command()(reasons)
app.command()(coded)
