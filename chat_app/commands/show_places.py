"""`heard places`: which rules for chats with an AI are followed here, and from which laws they come."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from heard.chat_app.common.places import Because, InForce, Rule

app = typer.Typer()


@app.command()
def places() -> None:
    """List the rules of the places in the settings, with the law that each comes from and the day it was read."""
    from heard.chat_app.common.places import NO_ADVICE, in_force, known_places
    from heard.chat_app.common.settings import load_settings

    settings = load_settings()
    rules = in_force(settings)
    typer.echo(NO_ADVICE)
    for code in settings.places:
        of_place = [one for one in rules.because if one.code == code]
        typer.echo(f"\n{code}  {of_place[0].place}")
        for one in of_place:
            typer.echo("\n".join(f"  {line}" for line in _told(one)))
    typer.echo("\nIn force" + (":" if settings.places else ", as no place is set:"))
    for line in _in_force(rules):
        typer.echo(f"  {line}")
    known = known_places(settings.places_file)
    others = [f"{code} ({place.name})" for code, place in known.items() if code not in settings.places]
    if others:
        typer.echo(f"\nNot set: {', '.join(others)}. The setting is `places`.")


def _told(one: "Because") -> list[str]:
    from heard.chat_app.common.places import kind_of

    rule = one.rule
    read = f"read on {rule.read}" if rule.read else "UNREAD: known from others only"
    return [
        f"{kind_of(rule)}: {_effect(rule)}",
        f"    {rule.says}",
        f"    {rule.law}, from {rule.since}; {read}: {rule.address}",
    ]


def _effect(rule: "Rule") -> str:
    from heard.chat_app.common.places import Age, CrisisProtocol, Disclosure, LogRule, NoticeRule

    match rule:
        case Disclosure():
            parts = ["at the start of a chat"] if rule.at_start else []
            parts += [f"every {rule.every_hours:g} hours of a talk"] if rule.every_hours else []
            parts += [f"after {rule.again_after_days} days without one"] if rule.again_after_days else []
            return "it is said that this is an AI " + ", ".join(parts)
        case Age():
            return f"nobody under {rule.least} is let in"
        case CrisisProtocol():
            return "the notice names /safety, which publishes the protocol" if rule.published else "no publication"
        case LogRule():
            return f"the log counts {', '.join(rule.counts)} by day, without words or ids"
        case NoticeRule():
            return f"the notice needs {', '.join(rule.fields)}"
        case _:
            said = [f'the notice says "{rule.notice}"'] if rule.notice else []
            said += [f'an empty chat says "{rule.persona}"'] if rule.persona else []
            said += [f"no persona is called {', '.join(rule.forbidden)}"] if rule.forbidden else []
            return "; ".join(said)


def _in_force(rules: "InForce") -> list[str]:
    where = "on the page of an empty chat" + (" and in a note in the talk" if rules.in_talk else "")
    again = f", again every {rules.every.total_seconds() / 3600:g} hours" if rules.every else ""
    lines = [f"It is said {where} that this is an AI{again}.", f"Nobody under {rules.least_age} is let in."]
    lines += ["The notice and /safety publish the crisis protocol."] if rules.published else []
    lines += [f"The log counts by day: {', '.join(sorted(rules.counts))}."] if rules.counts else []
    lines += [f"The notice needs: {', '.join(rules.fields)}."] if rules.fields else []
    lines += [f"The notice says: {sentence}" for sentence in rules.notice]
    lines += [f"An empty chat says: {sentence}" for sentence in rules.persona]
    return lines + ([f"Words that name no persona: {', '.join(rules.forbidden)}."] if rules.forbidden else [])
