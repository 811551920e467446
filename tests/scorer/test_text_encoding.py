"""The encoding of a file: told by all its bytes, and never guessed against them."""

import codecs

import pytest

from heard.scorer.errors import ScorerError
from heard.scorer.text_encoding import decode

WEST = {
    "English": "I’m so sorry – that’s hard…\nMy café closed\n",
    "one letter": "I am sad that my café closed\n",
    "one apostrophe": "I’m sad about it\n",
    "names": "Zoë, Søren and François told Müller’s naïve brother\n",
    "French": "Je suis très fatigué à l’hôpital, où ma mère a été opérée. Ça me fait peur, ma sœur pleure.\n",
    "Spanish": "¿Qué puedo hacer? Mañana mi niño irá al médico y estoy preocupado.\n",
    "Portuguese": "Não sei o que fazer, minha mãe está doente e não há solução.\n",
    "German": "Ich fühle mich müde, und meine Größe beschämt mich.\n",
    "Swedish": "Min hund dog igår och jag kan inte sova, det är så svårt för mig.\n",
    "Icelandic": "Hundurinn minn dó í gær og ég get ekki sofið. Það er svo sárt.\n",
}
MIDDLE = {
    "Polish": "Czuję się źle, bo wczoraj zmarł mój pies. Nie mogę spać, ciągle płaczę, to życie boli.\n",
    "Czech": "Včera mi umřel pes a já nemůžu spát. Cítím se příšerně a pořád pláču.\n",
    "Hungarian": "Tegnap meghalt a kutyám, és nem tudok aludni. Nagyon szomorú vagyok, őrült nehéz idők.\n",
    "a Polish name": "My mother lives in Łódź and I miss her\n",
}
OTHERS = [
    ("cp1251", "Windows-1251", "Вчера умерла моя собака, и я не могу спать.\n"),
    ("cp1251", "Windows-1251", "Вчора помер мій пес, і я не можу заснути. Її більше немає.\n"),
    ("cp1253", "Windows-1253", "Χθες πέθανε ο σκύλος μου και δεν μπορώ να κοιμηθώ.\n"),
    ("cp1254", "Windows-1254", "Dün köpeğim öldü ve uyuyamıyorum, çok üzgünüm ağlıyorum.\n"),
    ("iso8859_2", "ISO 8859-2", MIDDLE["Polish"]),
    ("cp850", "DOS 850", WEST["German"]),
    ("mac_roman", "Mac Roman", WEST["English"]),
    ("mac_roman", "Mac Roman", WEST["one letter"]),
    ("mac_roman", "Mac Roman", WEST["one apostrophe"]),
    ("gb18030", "GB 18030", "昨天我的狗死了，我睡不着。朋友说我应该早点休息，可是我一直在想它。\n"),
    ("cp932", "Shift JIS", "昨日、犬が死んで眠れません。友達に話しても、わかってもらえない気がします。\n"),
    ("cp949", "Korean (949)", "어제 강아지가 죽어서 잠을 잘 수가 없어요. 친구에게 말해도 소용이 없어요.\n"),
]
CASES = [
    *(("cp1252", "Windows-1252", text) for text in WEST.values()),
    *(("cp1250", "Windows-1250", text) for text in MIDDLE.values()),
    *OTHERS,
]


@pytest.mark.parametrize(("codec", "title", "text"), CASES)
@pytest.mark.parametrize("before", [0, 2000])
def test_the_table_of_letters_is_told_from_the_letters(codec: str, title: str, text: str, before: int) -> None:
    whole = "message,human\n" + "plain words,more of them\n" * before + text
    found = decode("a.csv", whole.encode(codec))
    assert (found.encoding, found.text) == (title, whole)
    assert found.line == before + 2
    assert found.note == (
        f"Read as {title}: it is no UTF-8, and its letters fit that best. The first of them is in line {before + 2}."
    )


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["message\nI’m sad.\n", "मैं दुखी हूँ, बहुत\nक्या करूँ\n", "昨天我的狗\n死了,x\n"])
@pytest.mark.parametrize("marks", [0, 1, 2])
def test_wide_letters_with_a_mark_and_without(codec: str, text: str, marks: int) -> None:
    found = decode("a.csv", ("\ufeff" * marks + text).encode(codec))
    assert (found.text, found.encoding) == (text, codec[:6].upper())
    assert found.note == f"Read as {codec[:6].upper()}."


@pytest.mark.parametrize("raw", [codecs.BOM_UTF8 * 3 + b"a,b\n", "ï»¿a,b\n".encode(), b"a,b\n"])
def test_a_mark_may_be_there_twice(raw: bytes) -> None:
    assert decode("a.csv", raw) == ("a,b\n", "UTF-8", None)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_one_stray_byte_in_a_file_of_utf_8_is_named_and_breaks_nothing_else(end: str) -> None:
    raw = f"C’est l’été{end}".encode() * 1999 + f"I{chr(0x92)}m{end}".encode("latin-1")
    with pytest.raises(ScorerError, match=r"a\.csv, line 2000: a byte \(0x92\) that is no UTF-8, as 7,996 other"):
        decode("a.csv", raw)


def test_two_files_put_into_one_are_refused() -> None:
    raw = "Un été\n".encode() * 5 + "Un été à Évry\n".encode("cp1252") * 9
    with pytest.raises(ScorerError, match="line 6: a byte"):
        decode("a.csv", raw)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"message\nI am\0sad\n", "line 2: a byte of 0 stands here"),
        (b"\xff\xfe" + "abc\n".encode("utf-16-le") + b"\x00\xd8", "line 2: here the file is no UTF-16 any more"),
        (b"\xef\xbb\xbfmessage\ncaf\xe9 x\n", "in no encoding|Windows-1252"),
        (bytes(range(256)), "in no encoding that can be told"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x00\x01\x02\x81\x8d", "in no encoding that can be told"),
    ],
)
def test_what_is_no_text_is_refused(raw: bytes, sentence: str) -> None:
    try:
        told = decode("a.csv", raw).note
    except ScorerError as error:
        told = str(error)
        assert told.startswith("a.csv")
        assert told.endswith(".")
    assert any(part in told for part in sentence.split("|"))
