"""What gives away who wrote an answer, and what only looks like it: a table of both."""

import pytest

from heard.chat_app.models.catalogue import BUILT_IN
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.studies.leaks import LEAK_KINDS, leaks_in
from heard.chat_app.studies.study_answers import model_names

SPECS = {
    **BUILT_IN,
    "qwen-7b": ModelSpec("qwen-7b", "openai", "qwen2.5-7b-instruct", "Qwen on the lab's server"),
    "talker": ModelSpec("talker", "openai", "talker", "Talker"),
}
NAMES = model_names(SPECS)

GIVEN_AWAY = [
    ("As an AI, I can't feel what you feel, but I hear you.", "ai_self"),
    ("I'm sorry. As an AI language model I do not have feelings.", "ai_self"),
    ("as an artificial intelligence, I am here to listen.", "ai_self"),
    ("As a large language model, I can only listen.", "ai_self"),
    ("I'm just an AI, but that sounds painful.", "ai_self"),
    ("I am an AI assistant and I care about you.", "ai_self"),
    ("I'm only a chatbot.", "ai_self"),
    ("I'm a virtual assistant; still, I hear you.", "ai_self"),
    ("I am not a human, but I can listen.", "ai_self"),
    ("I'm not a real person and yet I hear you.", "ai_self"),
    ("Though I was programmed to help, I hear you.", "ai_self"),
    ("My training data does not cover this.", "ai_self"),
    ("\u0410s \u0430n \u0391I, I cannot feel.", "ai_self"),
    ("A\u200bs an A\u200bI model, I cannot feel.", "ai_self"),
    ("**As an AI**, I cannot feel.", "ai_self"),
    ("AS AN AI I CANNOT FEEL", "ai_self"),
    ("I\u2019m an AI \u2014 I cannot know.", "ai_self"),
    ("I was developed by OpenAI to help.", "maker"),
    ("As an AI made by Anthropic, I listen.", "maker"),
    ("I'm a large language model, trained by Google.", "maker"),
    ("I am a helpful assistant created by Meta AI, and I hear you.", "maker"),
    ("As an assistant developed by the team at OpenAI I hear you.", "maker"),
    ("You are talking to an AI model from Mistral.", "maker"),
    ("I'm OpenAI's assistant.", "maker"),
    ("My creators at Anthropic taught me to listen.", "maker"),
    ("I was created by \u041ep\u0435n AI.", "maker"),
    ("I am GPT-4o and I hear you.", "model_name"),
    ("I'm Claude, and I'm glad you wrote.", "model_name"),
    ("My name is Gemini.", "model_name"),
    ("Claude here. That sounds hard.", "model_name"),
    ("ChatGPT: I am sorry to hear that.", "model_name"),
    ("That sounds hard.\n- Claude", "model_name"),
    ("Claude 3.7 Sonnet would say you are brave.", "model_name"),
    ("This is LLaMA 3.2 speaking.", "model_name"),
    ("I am Llama, here for you.", "model_name"),
    ("SmolLM here to help.", "model_name"),
    ("smollm2 says hello", "model_name"),
    ("qwen2.5 7b instruct is here", "model_name"),
    ("I'm talker and I hear you.", "model_name"),
    ("I am Gemini 2.5 Pro.", "model_name"),
    ("I'm \u0421l\u0430ud\u0435.", "model_name"),
    ("Please write again.\n\nSincerely,\nDr. Smith", "signature"),
    ("Please write again. Sincerely, Dr. Smith", "signature"),
    ("I hear you.\n- Dr. Jane Smith", "signature"),
    ("I hear you.\n\nWarm regards,\n[Your Name]", "signature"),
    ("I hear you. [Therapist's Name]", "signature"),
    ("Reach out any time.\n\nJane Doe, LCSW", "signature"),
    ("Reach out any time. Robin Fields, Ph.D.", "signature"),
    ("Best wishes,\nAnna", "signature"),
    ("Take care,\nMary", "signature"),
    ("I hear you.\n\nDr. Ortega", "signature"),
    ("Hello, I'm Dr. Ortega. That sounds painful.", "signature"),
    ("My name is Jane Doe, a licensed counselor in Ohio.", "signature"),
    ("Warmly,\nYour therapist", "signature"),
    ("All the best,\n**Tom Baker, LMFT**\nHope Clinic", "signature"),
    ("With love and care.\n\nYours truly, Sam", "signature"),
    ("Best regards, Mary Jones, LPC", "signature"),
]
BLIND = [
    "I feel like an AI at work.",
    "I met Claude yesterday.",
    "My friend Gemini told me so.",
    "It sounds as if they treat you as an AI, not as a person.",
    "You feel like you're just a robot on that line.",
    "I work as an AI engineer and my boss hates me.",
    "As an AI researcher you must be under pressure.",
    "As an AI company employee, you see this daily.",
    "I'm an AI engineer and I'm exhausted.",
    "Sometimes I think I'm an AI.",
    "He says I'm a chatbot when I am tired.",
    "It hurts when he tells you that you are a machine.",
    "I asked ChatGPT about my marriage and it hurt.",
    "Talking to ChatGPT at night can feel lonely.",
    "Claude, your husband, sounds distant.",
    "I'm Claude's mother and I worry.",
    "Being a Gemini does not decide who you are.",
    "The app was made by Google and you cannot stop checking it.",
    "You were laid off by Meta, and that must sting.",
    "I was hurt by Google maps sending me there.",
    "I was trained by my father to be strong.",
    "Working at OpenAI must be a lot of pressure.",
    "The llama at the farm calmed you.",
    "I am here with you.",
    "Take care, Anna!",
    "Take care, and come back.",
    "Take care. You matter.",
    "Best of luck with the exam.",
    "I'm sorry about Dr. Smith.",
    "You are seeing Dr. Smith. That took courage.",
    "It sounds like Dr. Smith did not listen to you.",
    "With love and patience, things can change.",
    "My therapist, Jane Doe, LCSW, said I should write more and I did not.",
    "Love, for you, was never easy.",
    "I hear an echo of that in your words.",
    "An echo of the past is loud here.",
    "Your talker of a brother hurt you.",
    "I am not a human punching bag, you told him.",
    "I am not a real fan of that, but I hear you.",
    "She has a PhD and still doubts herself.",
    "It is hard to finish a PhD.",
    "You got your M.A. and nobody came.",
    "As a bot would, you said yes to all.",
    "You write: I'm only a number to them.",
    "My programming job is a mess, you say.",
    "My developers quit, and now I am alone with it.",
    "Sincerely, I am sorry for your loss.",
    "Truly, that sounds hard.",
    "Dear Anna, I am sorry.",
    "Maria, that sounds painful. I am here.",
    "First, breathe. Second, call your sister.\n- Breathe\n- Call Anna",
    "- Anna",
    "What would help you tonight?\n\n- Sleep",
    "Meta conversations about talking are hard.",
    "This is Claude's house, so you felt unsafe.",
    "You said your son is talking to an AI all night. That worries you.",
    "It's ok to feel replaced by an AI.",
    "An AI wrote the letter, and it felt cold to you.",
    "Your boss said: as an AI company, we need fewer people.",
    "I'm a people pleaser because I was trained to be a good girl.",
    "I was programmed by my parents to obey, you said.",
    "Her twin brother Pi is gone.",
    "Kindly, Anna said no.",
    "It's best, Anna, to rest.",
    "Warmly welcome yourself back.",
    "Regards to your mother.",
    "I see you. Love, Hope and Faith will not fix this alone.",
    "Being an AI trainer is tiring, and I see that.",
    "You feel seen by a machine, as an AI never judges.",
    "The exam in AI went badly. As a student that stings.",
]


@pytest.mark.parametrize(("text", "kind"), GIVEN_AWAY)
def test_what_gives_away_the_writer_is_found(text: str, kind: str) -> None:
    assert kind in leaks_in(text, NAMES)


@pytest.mark.parametrize("text", BLIND)
def test_what_only_speaks_of_such_things_is_not(text: str) -> None:
    assert leaks_in(text, NAMES) == []


def test_every_kind_is_in_the_table_and_several_are_named_in_order() -> None:
    assert {kind for _, kind in GIVEN_AWAY} == set(LEAK_KINDS)
    text = "As an AI made by OpenAI, I am GPT-4o.\n\nSincerely,\nDr. Smith"
    assert leaks_in(text) == list(LEAK_KINDS)


def test_a_name_counts_only_where_it_is_configured() -> None:
    text = "Zephyr-9 was here."
    assert leaks_in(text, NAMES) == []
    assert leaks_in(text, [*NAMES, "Zephyr-9 (on the lab's server)"]) == ["model_name"]
    assert leaks_in("ZEPHYR 9 was here.", [*NAMES, "org/zephyr-9"]) == ["model_name"]


@pytest.mark.parametrize("text", ["", " \n ", "\ud800", "\x00", "(" * 500, "[" * 500, "\U0001f600" * 50])
def test_any_text_is_read(text: str) -> None:
    assert leaks_in(text, NAMES) == []
