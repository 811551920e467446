"""`heard evaluate-policy`: measures the gain and the cost of rewriting policies on a file of questions."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.compare import (
    ColumnsOption,
    OpenCallsOption,
    PerMinuteOption,
    QuestionsOption,
    run_plan,
    write_files,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heard.chat_app.comparing.answers import Answer
    from heard.chat_app.comparing.plan import Plan
    from heard.chat_app.comparing.questions import Questions
    from heard.chat_app.comparing.tables import ReportTable
    from heard.chat_app.conversation.services import Services

app = typer.Typer()


@app.command("evaluate-policy")
def evaluate_policy(
    policies: Annotated[
        list[str], typer.Argument(metavar="POLICY...", help="Files in prompts/policies, without the ending.")
    ],
    questions: QuestionsOption,
    model: Annotated[str, typer.Option("--model", help="A model's name, as `heard models list` shows it.")],
    persona: Annotated[str, typer.Option("--persona", help="Default: the first, as a new visitor has it.")] = "",
    strategy: Annotated[str, typer.Option("--strategy", help="A strategy's name.")] = "plain",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of the journal, policies.csv and policies.md."),
    ] = None,
    open_calls: OpenCallsOption = 4,
    per_minute: PerMinuteOption = None,
    columns: ColumnsOption = "",
) -> None:
    """Hold each answer's first draft against the one that a policy of writing again has kept.

    \b
    heard evaluate-policy below-threshold best-of-3 --questions questions.csv \\
                          --model smollm2 --out policies

    Shown are the mean Empathy before and after with intervals of 95%, the
    share of answers that became better, and the extra time and tokens, as a
    ratio and for each answer.

    With --out each answer is in DIR's journal as soon as it is there: after
    Ctrl-C or kill -9 the same command goes on with what is missing. Without it
    nothing is kept.
    """
    from heard.chat_app.comparing.plan import Plan, default_persona, resolve_names
    from heard.chat_app.studies.column_names import parse_columns

    names = parse_columns(columns)

    def plan(services: "Services", usable: "Questions") -> "Plan":
        library = services.library
        return Plan(
            command="evaluate-policy",
            questions=tuple(usable.questions),
            models=resolve_names("model", model, services.models.specs),
            personas=resolve_names("persona", persona or default_persona(services), library.personas),
            strategies=resolve_names("strategy", strategy, library.strategies),
            policies=resolve_names("policy", ",".join(policies), library.policies),
            examples=library.examples,
        )

    def finish(answers: "Sequence[Answer]") -> "list[ReportTable]":
        from heard.chat_app.comparing.policy_figures import figures_of, policies_csv, policy_tables

        named = list(dict.fromkeys(answer.key[-1] for answer in answers))
        figures = [figures_of(name, [answer for answer in answers if answer.key[-1] == name]) for name in named]
        tables = policy_tables(figures)
        if out is not None:
            texts = {
                "policies.csv": policies_csv(figures),
                "policies.md": "\n".join(table.markdown() for table in tables),
            }
            write_files(out, texts)
        return tables

    if out is not None:
        run_plan(plan, model, questions, out, open_calls, per_minute, finish, names=names)
        return
    with tempfile.TemporaryDirectory(prefix="heard-") as scratch:
        run_plan(plan, model, questions, Path(scratch), open_calls, per_minute, finish, kept=False, names=names)
