"""Letters of other alphabets that are drawn like Latin ones, as used to disguise a text or to decorate it."""

BY_LOOK = str.maketrans(
    # Greek
    "αβγδεζηθικλμνοπρσςτυφχωΑΒΕΖΗΘΙΚΛΜΝΟΠΡΣΤΥΧΔ"
    # Cyrillic
    "авгезиіјкмнопрстухѕьяԁһԛԝАВЕЅІЈКМНОРСТУХЯИ"
    # small capitals and struck letters
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıłøđ",
    "abydeznoikluvonpoctufxwABEZHOIKAMNONPETYXAabreenijkmhonpctyxsbrdhqwABESIJKMHOPCTYXRNabcdefghijklmnoprstuvwyzilod",
)
"""Each letter to the Latin one it looks like."""

BY_SOUND = str.maketrans("σςπΣΠΔδΛμηνφΦωγΓ", "sspSPDdLmnnfFogG")
"""Greek letters to the Latin one of their sound, where that differs: both ways of writing are seen."""
