"""Words of five languages by which a writer calls itself an AI, a product or a professional, for `leak_languages.py`.

Texts are in lower case without accents, as `leaks.py` makes them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one language, each slot a regular expression of alternatives."""

    as_: str
    """"As" with what may stand before the kind."""
    i_am: str
    """"I am", "you are talking to me", with adverbs and articles."""
    here: str
    """"This is", "you are talking to", with articles: only before what a machine alone is."""
    kind: str
    """What only a machine is."""
    weak: str
    """What a machine is and people call themselves too."""
    profession: str
    """A professional, or a human, with adjectives."""
    practice: str
    """What only a professional says: "my patients", "in my practice"."""
    first: str
    """Words by which the writer goes on about themselves."""
    second: str
    """Words by which the sentence turns to the reader."""
    likeness: str
    """What stands before words that are compared, believed or quoted."""
    machinery: str
    """What only a machine says of itself."""
    made: str
    """"Made by", with its verbs."""
    made_me: str
    """"Made me", the maker before it or after it."""
    named: str
    """"My name is", before a product's name."""
    from_: str
    """"Of" between a kind and its maker."""


SPANISH = Language(
    as_=(
        r"(?:como|siendo|al ser|por ser|en (?:mi )?calidad de|hablando como|dado que soy|puesto que soy|ya que"
        r" soy)(?: (?:una?|el|la|este|esta|simple|mera?|gran|tu|solo|solamente))*"
    ),
    i_am=(
        r"\b(?:soy|no soy mas que|no dejo de ser)(?:,? (?:solo|solamente|simplemente|unicamente|realmente|en realidad"
        r"|apenas|tan solo|nada mas que|una?|tu|su|el|la|simple|mera?|gran|humilde|al fin y al cabo|despues de todo"
        r"|,))*"
    ),
    here=(
        r"\b(?:estas? hablando con|hablas con|te (?:escribe|habla|responde)|esto es|aqui (?:te )?(?:escribe"
        r"|responde))(?: (?:una?|el|la|simple))*"
    ),
    kind=(
        r"(?:inteligencia artificial|ia|a\.i\.|i\.a\.|(?:gran )?modelo (?:de )?(?:lenguaje|linguistico|de ia|grande"
        r" de lenguaje|extenso de lenguaje)|(?:asistente|companer[oa]|agente|terapeuta|acompanante|consejer[oa])"
        r" (?:virtual|digital|de ia|conversacional|automatizad[oa]|artificial)|chat ?bot|bot conversacional|programa"
        r" (?:informatico|de ordenador|de computadora|de ia)|sistema (?:automatizado|automatico|de ia|de inteligencia"
        r" artificial)|red neuronal|algoritmo|llm)"
    ),
    weak=r"(?:bot|robot|maquina|programa|software|asistente|sistema)",
    profession=(
        r"(?:(?:buen[oa]?|profesional|tu|futur[oa]) )?(?:psico(?:log[oa]|terapeuta)|terapeuta|consejer[oa]"
        r"|orientador[a]?|psiquiatra|trabajador[a]? social|medic[oa]|enfermer[oa]|voluntari[oa]|coach|docente"
        r"|counsell?or|profesional de la (?:salud|psicologia)(?: mental)?|especialista en salud mental|ser humano"
        r"|humano|persona)(?: (?:clinic[oa]|infantil|titulad[oa]|licenciad[oa]|colegiad[oa]|de profesion|familiar"
        r"|de pareja|certificad[oa]))*"
    ),
    practice=(
        r"\bmis pacientes\b|\ben mi (?:consulta|practica (?:clinica|profesional)|trabajo (?:clinico|terapeutico)"
        r"|experiencia (?:clinica|profesional|terapeutica)|labor (?:clinica|terapeutica))\b|\bmis anos de (?:consulta"
        r"|terapeuta|experiencia clinica)\b|\b(?:llevo|tengo) [a-z0-9]+ anos (?:como|de|trabajando como|ejerciendo(?:"
        r" como)?) (?:psico|terapeuta|consejer|experiencia clinica|medic|consulta)|\btrabajo como (?:psico|terapeuta"
        r"|consejer|orientador)"
    ),
    first=(
        r"(?:yo|mis?|me|conmigo|soy|estoy|voy|he|fui|puedo|podria|tengo|siento|poseo|carezco|cuento con|experimento"
        r"|entiendo|comprendo|quiero|quisiera|hago|dispongo|veo|se|debo|intento|trato|creo|escucho|ofrezco|aprendi"
        r"|noto|suelo|recomiendo|sugiero|percibo|puedo|atiendo|trabajo|acompano|reconozco|valoro|pienso|digo|conozco"
        r"|nunca he)"
    ),
    second=r"(?:te|tu|tus|ti|eres|usted|le|les|su|sus|os|vos|puedes|tienes|debes|sientes)",
    likeness=(
        r"(?:como si|sient[eo]s?(?: que)?|parece(?:s)?(?: que)?|piens[ao]s?(?: que)?|cre[eo]s?(?: que)?|dic(?:e|es"
        r"|en)(?: que)?|dijo(?: que)?|dijiste(?: que)?|escrib(?:es|iste)|imagina(?: que)?|tratan?|tratara|ves|\bsi"
        r"|que yo|cuando|llam[oa]n?|sonaste que|sueno que|repites|acusan?(?: de que)?)[:,]? *(?:[\""
        r"'«(¿¡]|que )*$"
    ),
    machinery=(
        r"\b(?:mis? (?:datos de entrenamiento|algoritmos?|desarrollador[ea]s|programador[ea]s)|mi programacion (?:no"
        r"|me)|fecha de corte de mi)\b|\b(?:fui|he sido|estoy|me han) (?:programad|entrenad|disenad|desarrollad"
        r"|cread)[oa]s? (?:para|con (?:datos|textos)|como)\b(?! (?:ser|obedecer|agradar|complacer))|\bno (?:tengo"
        r"|poseo|experimento|siento) (?:un )?(?:cuerpo|sentimientos|emociones|conciencia|vivencias|experiencias)(?:"
        r" (?:ni|o) [a-z]+)* ?(?:propi[oa]s?|human[oa]s?|personales|reales|vividas|fisico|como (?:tu|un[oa]? (?:human"
        r"|persona)|los? (?:ser(?:es)? )?human|las personas))|\bno soy (?:realmente |en realidad )?(?:una?"
        r" )?(?:human[oa]|ser humano|persona(?: real| de verdad| humana| de carne y hueso)?|(?:psicolog[oa]"
        r"|terapeuta) (?:human[oa]|de verdad|real))(?= *(?:$|[.,;:!?\n]| (?:y|pero|sino|ni|asi)\b))"
    ),
    made=(
        r"(?:desarrollad|cread|entrenad|disenad|hech|programad|construid|fabricad)[oa] (?:y [a-z]+ )?por (?:el equipo"
        r" de |la empresa )?"
    ),
    made_me=r"me (?:creo|desarrollo|entreno|diseno|hizo|programo|construyo|ha (?:creado|desarrollado|entrenado|hecho))",
    named=r"\b(?:me llamo|mi nombre es|soy|puedes llamarme|te (?:habla|escribe|saluda)|aqui|hablas con) (?:el |la )?",
    from_=r"(?:de|creado por|hecho por)",
)

PORTUGUESE = Language(
    as_=(
        r"(?:(?:como|enquanto|sendo|por ser|na qualidade de|na condicao de|falando como|ja que sou|visto que sou)(?:"
        r" (?:uma?|o|a|este|esta|simples|mer[oa]|grande|seu|sua|so|apenas))+|(?:como|enquanto|sendo|por ser|na"
        r" qualidade de)(?! ia [a-z]))"
    ),
    i_am=(
        r"\b(?:sou|nao passo de)(?:,? (?:apenas|so|somente|simplesmente|na verdade|realmente|um?a?|o|a|seu|sua"
        r"|simples|mer[oa]|grande|afinal|,))*"
    ),
    here=(
        r"\b(?:voce (?:esta )?(?:fala(?:ndo)?|conversa(?:ndo)?) com|quem (?:te )?(?:fala|escreve|responde)(?: aqui)?"
        r" e|isto e|isso e)(?: (?:uma?|o|a|simples))*"
    ),
    kind=(
        r"(?:inteligencia artificial|ia|i\.a\.|(?:grande )?modelo (?:de |grande de )?(?:linguagem|linguistico|de ia)"
        r"|(?:assistente|companheir[oa]|agente|terapeuta|conselheir[oa]) (?:virtual|digital|de ia|conversacional"
        r"|automatizad[oa]|artificial)|chat ?bot|robo de conversa|programa de (?:computador|computacao|ia)|sistema"
        r" (?:automatizado|automatico|de ia|de inteligencia artificial)|rede neural|algoritmo|llm)"
    ),
    weak=r"(?:bot|robo|maquina|programa|software|assistente|sistema)",
    profession=(
        r"(?:(?:bo[am]|seu|sua|futur[oa]) )?(?:psico(?:log[oa]|terapeuta)|terapeuta|conselheir[oa]|orientador[a]?"
        r"|psiquiatra|assistente social|medic[oa]|enfermeir[oa]|voluntari[oa]|coach|profissional d[ae] (?:saude"
        r"|psicologia)(?: mental)?|especialista em saude mental|ser humano|humano|pessoa)(?: (?:clinic[oa]|infantil"
        r"|formad[oa]|licenciad[oa]|de formacao|familiar|de casais|certificad[oa]))*"
    ),
    practice=(
        r"\bmeus pacientes\b|\b(?:no meu consultorio|na minha (?:pratica (?:clinica|profissional)|experiencia"
        r" (?:clinica|profissional|terapeutica))|no meu trabalho (?:clinico|terapeutico))\b|\b(?:trabalho|atuo) (?:ha"
        r" [a-z0-9]+ anos )?como (?:psico|terapeuta|conselheir)|\b(?:tenho|sao) [a-z0-9]+ anos (?:como|de) (?:psico"
        r"|terapeuta|experiencia clinica|consultorio)"
    ),
    first=(
        r"(?:eu|meus?|minhas?|me|comigo|sou|estou|vou|fui|posso|poderia|tenho|sinto|possuo|careco|vivencio"
        r"|experimento|entendo|compreendo|quero|gostaria|faco|disponho|vejo|sei|devo|tento|acho|escuto|ofereco"
        r"|aprendi|noto|costumo|vi|ouvi|importo|recomendo|sugiro|percebo|atendo|trabalho|acompanho|reconheco|consigo"
        r"|penso|digo|conheco|nunca (?:tive|senti))"
    ),
    second=r"(?:te|ti|tu|voce|voces|lhe|seus?|suas?|teu|tua|podes|pode|tens|tem|sente)",
    likeness=(
        r"(?:como se|sent(?:e|es|indo)(?: que)?|parece(?: que)?|pensa(?: que)?|acha(?: que)?|diz(?:em)?(?: que)?"
        r"|disse(?: que)?|escreve(?:u)?|imagin[ae](?: que)?|tratam?|\bse|que eu|quando|chamam?|sonhei que|repete"
        r"|acusam(?: de que)?)[:,]? *(?:[\""
        r"'«(]|que )*$"
    ),
    machinery=(
        r"\b(?:meus (?:dados de treinamento|algoritmos|desenvolvedores|programadores)|meu algoritmo|minha programacao"
        r" (?:nao|me))\b|\b(?:fui|estou) (?:programad|treinad|projetad|desenvolvid|criad)[oa] (?:para|com (?:dados"
        r"|textos)|como)\b(?! (?:ser|obedecer|agradar))|\bnao (?:tenho|possuo|vivencio|sinto) (?:um )?(?:corpo"
        r"|sentimentos|emocoes|consciencia|vivencias|experiencias)(?: (?:nem|ou|e) [a-z]+)* ?(?:propri[oa]s?"
        r"|human[oa]s?|pessoais|reais|de verdade|fisico|como (?:voce|um(?:a)? (?:human|pessoa)|os (?:ser(?:es)?"
        r" )?human|as pessoas))|\bnao sou (?:realmente |na verdade )?(?:uma? )?(?:human[oa]|ser humano|pessoa(?: real"
        r"| de verdade| humana| de carne e osso)?|(?:psicolog[oa]|terapeuta) (?:human[oa]|de verdade|real))(?= *(?:$"
        r"|[.,;:!?\n]| (?:e|mas|nem|entao)\b))"
    ),
    made=(
        r"(?:desenvolvid|criad|treinad|projetad|feit|programad|construid)[oa] (?:e [a-z]+ )?pel[oa] (?:equipe d[ao] "
        r"|empresa )?"
    ),
    made_me=r"me (?:criou|desenvolveu|treinou|projetou|fez|programou)",
    named=(
        r"\b(?:me chamo|chamo-me|meu nome e|sou|pode me chamar de|quem fala e|aqui (?:e|quem fala e)|voce fala com)"
        r" (?:o |a )?"
    ),
    from_=r"(?:d[ao]|de)",
)

FRENCH = Language(
    as_=(
        r"(?:(?:en tant qu(?:e|')|en (?:ma )?qualite d(?:e|')|comme|etant|parlant en tant qu(?:e|')|puisque je suis"
        r"|vu que je suis) ?(?:(?:une?|simple|le|la|cette|votre|ton|grand) )*)"
    ),
    i_am=(
        r"\b(?:(?:je|j')(?: ne)? ?(?:suis|reste))(?:,? (?:juste|seulement|simplement|en fait|qu'une?|que|bien|aussi"
        r"|une?|le|la|votre|ton|simple|grand|apres tout|,)|,? ?qu'une?)*"
    ),
    here=(
        r"\b(?:c'est(?: ici)?|ceci est|(?:vous|tu) (?:parlez|parles|echangez|echanges|discutez|discutes) (?:avec"
        r"|a))(?: (?:une?|le|la|simple))*"
    ),
    kind=(
        r"(?:intelligence artificielle|ia|i\.a\.|(?:grand )?modele (?:de |d')?(?:langage|langue|linguistique|ia)"
        r"|(?:assistant|compagnon|agent|therapeute|conseiller)(?:e)? (?:virtuel(?:le)?|numerique|d'ia|ia"
        r"|conversationnel(?:le)?|automatise(?:e)?|artificiel(?:le)?)|chat ?bot|agent conversationnel|programme"
        r" (?:informatique|d'ordinateur|d'ia)|systeme (?:automatise|automatique|d'ia|d'intelligence artificielle)"
        r"|reseau de neurones|algorithme|llm)"
    ),
    weak=r"(?:bot|robot|machine|programme|logiciel|assistant|systeme)",
    profession=(
        r"(?:(?:bon(?:ne)?|votre|ton|futur(?:e)?) )?(?:psy(?:chologue|chotherapeute|chiatre)?|therapeute"
        r"|conseill(?:er|ere)|travailleu(?:r|se) social(?:e)?|medecin|infirmi(?:er|ere)|benevole|ecoutante?|coach"
        r"|professionnel(?:le)? (?:de (?:la )?sante|de l'ecoute)(?: mentale)?|etre humain|humain(?:e)?)(?:"
        r" (?:clinicien(?:ne)?|diplome(?:e)?|agree(?:e)?|de formation|familial(?:e)?|de couple|certifie(?:e)?|de"
        r" metier))*"
    ),
    practice=(
        r"\bmes patient(?:e)?s\b|\b(?:dans|a) mon cabinet\b|\bdans ma (?:pratique(?: clinique| professionnelle)?"
        r"|consultation)\b|\bmon experience (?:clinique|professionnelle|de (?:psy|therapeute))\w*|\bje travaille"
        r" (?:depuis [a-z0-9 ]{1,20} )?comme (?:psy|therapeute|conseill)|\b[a-z0-9]+ ans de (?:pratique|cabinet"
        r"|metier de psy)"
    ),
    first=r"(?:je|j'[a-z]+|moi|mes|mon|ma|me|m'[a-z]+)",
    second=r"(?:tu|te|toi|t'[a-z]+|vous|votre|vos|ton|ta|tes)",
    likeness=(
        r"(?:comme si|sens(?:ez)?(?: que)?|sentez|semble(?: que)?|penses?(?: que)?|pensez(?: que)?|crois(?: que)?"
        r"|croyez(?: que)?|dit(?:es)?(?: que)?|disent(?: que)?|ecri(?:s|vez|t)|imagine[zr]?(?: que)?|traite(?:nt)?"
        r"""|(?<!meme )\bsi|que|quand|repete[sz]?|reve que|accuse(?:nt)?(?: d'etre)?)[:,]? *(?:[\"'«(]|que )*$"""
    ),
    machinery=(
        r"\b(?:mes (?:donnees d'entrainement|algorithmes|developpeurs|concepteurs|programmeurs)|mon algorithme|ma"
        r" programmation (?:ne|me|m'))|\bj'ai ete (?:programme|entraine|concu|developpe|cree)e? (?:pour|sur (?:des"
        r"|de)|a partir|afin|comme)\b(?! (?:obeir|plaire|etre))|\bje suis (?:programme|entraine|concu)e? (?:pour"
        r"|afin)\b(?! (?:obeir|plaire|etre))|\bje (?:n'(?:ai|eprouve)|ne (?:possede|ressens|vis)) pas (?:de |d'"
        r"|moi-meme )?(?:vrai(?:e)?s )?(?:corps|sentiments|emotions|conscience|vecu|experiences)(?: (?:ni|ou|et)"
        r" (?:d'|de )?[a-z]+)* ?(?:propres?|humain(?:e)?s?|personnel(?:le)?s?|reel(?:le)?s?|physique|vecues|comme"
        r" (?:toi|vous|un(?:e)? (?:humain|personne|etre)|les (?:etres )?humains))|\bje ne suis pas (?:vraiment"
        r" )?(?:une? )?(?:humain(?:e)?|etre humain|(?:vraie )?personne(?: reelle| humaine| en chair et en os)?"
        r"|(?:vrai(?:e)? )?(?:psychologue|therapeute) (?:humain(?:e)?|reel(?:le)?)|vrai(?:e)? (?:psy|therapeute"
        r"|humain)\w*)(?= *(?:$|[.,;:!?\n]| (?:et|mais|ni|donc)\b))"
    ),
    made=(
        r"(?:developpe|cree|entraine|concu|fait|programme|construit|fabrique)e? (?:et [a-z]+ )?par (?:l'equipe (?:de "
        r"|d')|la societe )?"
    ),
    made_me=r"m'a (?:cree|developpe|entraine|concu|fait|programme)e?",
    named=(
        r"\b(?:je m'appelle|mon nom est|je suis|appelle[z-]* ?-?moi|ici|c'est|tu parles (?:a|avec)|vous parlez (?:a"
        r"|avec)) "
    ),
    from_=r"(?:de|d'|cree par)",
)

GERMAN = Language(
    as_=(
        r"(?:als|in meiner (?:rolle|funktion|eigenschaft) als|da ich|weil ich|obwohl ich)(?: (?:eine?[rns]?"
        r"|diese[rs]?|reine[rs]?|blose[rs]?|dein(?:e)?|ihr(?:e)?|gros(?:es)?|nur|blos|ja))*"
    ),
    i_am=(
        r"\b(?:ich (?:bin|bleibe)|bin ich)(?:,? (?:nur|blos|lediglich|ja|doch|eben|auch|eigentlich|zwar|schlieslich"
        r"|in wirklichkeit|eine?[rmns]?|dein(?:e)?|ihr(?:e)?|reine[rs]?|gros(?:es)?|einfach|,))*"
    ),
    here=(
        r"\b(?:hier (?:schreibt|spricht|antwortet)(?: (?:dir|ihnen))?|du (?:sprichst|schreibst|redest)(?: hier)?(?:"
        r" gerade)? mit|sie (?:sprechen|schreiben)(?: hier)?(?: gerade)? mit|das ist)(?: (?:eine?[rmns]?|nur|blos))*"
    ),
    kind=(
        r"(?:kunstliche[rsn]? intelligenz|k\.i\.|(?:ki|ai)(?:[- ](?:gestutzte[rs]? )?(?:assistent|modell|system"
        r"|chatbot|programm|begleit|sprachmodell|bot)(?:in|er|erin|s)?)?(?![-\w])|(?:groses? )?sprachmodell"
        r"|ki-(?:basierte[rs]?|gestutzte[rs]?) (?:assistent|system|chatbot|modell)(?:in)?|(?:virtuelle[rs]?"
        r"|digitale[rs]?|automatisierte[rs]?) (?:assistent|begleiter|berater|helfer|system|therapeut"
        r"|gesprachspartner)(?:in)?|chat ?bot|computerprogramm|algorithmus|neuronales netz|llm)"
    ),
    weak=r"(?:bot|roboter|maschine|programm|software|assistent(?:in)?|system)",
    profession=(
        r"(?:(?:gute[rs]?|approbierte[rs]?|ausgebildete[rs]?|erfahrene[rs]?|angehende[rs]?|systemische[rs]?"
        r"|zertifizierte[rs]?) )*(?:(?:diplom-?)?psycholog(?:e|in)|(?:psycho|familien|paar"
        r"|verhaltens)?therapeut(?:in)?|berater(?:in)?|seelsorger(?:in)?|psychiater(?:in)?|sozialarbeiter(?:in)?|arzt"
        r"|arztin|pfleger(?:in)?|krankenschwester|ehrenamtliche[r]?|coach|fachkraft|mensch)"
    ),
    practice=(
        r"\bmeine[rn]? (?:patient(?:en|innen)|klient(?:en|innen))\b|\bin meiner (?:praxis|beratung|sprechstunde"
        r"|(?:klinischen|therapeutischen|beruflichen) (?:arbeit|erfahrung|praxis|tatigkeit))\b|\bich (?:arbeite"
        r"|bin)(?: seit [a-z0-9 ]{1,20})? (?:als )?(?:psycholog|(?:psycho)?therapeut|berater)|\barbeite ich (?:seit"
        r" [a-z0-9 ]{1,20} )?als (?:psycholog|(?:psycho)?therapeut|berater)|\bmeine(?:r)? (?:klinische"
        r"|therapeutische)[nr]? erfahrung"
    ),
    first=r"(?:ich|mir|mich|mein(?:e[mnrs]?)?)",
    second=r"(?:du|dir|dich|dein(?:e[mnrs]?)?|ihnen|euch)",
    likeness=(
        r"(?:als ob|als ware|fuhlst?(?: dich)?|fuhlen|denk(?:st|t|en)|glaub(?:st|t|e)|mein(?:st|t|en)|sag(?:st|t|te"
        r"|en|ten)|schreibst|stell(?:st)? dir vor|behandel[tn](?: dich)?|(?<!auch )\bwenn|dass|tu(?:st)? so"
        r"|wiederholst|nann?te|traumst)[:,]? *(?:[\""
        r"'«(]|, )*$"
    ),
    machinery=(
        r"\b(?:auch wenn|obwohl|(?:denk|bedenk|vergiss|beacht)[^.!?\n]{0,14}, dass) ich (?:ja |nur |blos |lediglich "
        r"|eine? )*(?:ki|sprachmodell|kunstliche intelligenz|chat ?bot|(?:computer)?programm|maschine) bin\b"
        r"|\b(?:meine (?:trainingsdaten|algorithmen|entwickler(?:innen)?|programmierer)|mein algorithmus|meine"
        r" programmierung (?:lasst|erlaubt|verbietet|hindert))\b|\bich wurde (?:darauf |dafur |dazu |mit [a-z ]{1,30}"
        r" )?(?:programmiert|trainiert|entwickelt|geschaffen|konzipiert)\b(?! von (?:mein|dein|ihr))|\bich bin"
        r" (?:darauf|dafur|dazu) (?:programmiert|trainiert|entwickelt)\b(?!,? (?:es )?allen)|\bich (?:habe|besitze"
        r"|empfinde|kenne) (?:selbst )?(?:ja )?kein(?:e|en)? (?:eigene[nr]? |echte[nr]? |menschliche[nr]? "
        r"|personliche[nr]? )(?:korper|gefuhle|emotionen|bewusstsein|erfahrungen|erlebnisse|empfindungen)|\bich"
        r" (?:habe|besitze|empfinde) (?:selbst )?kein(?:e|en)? (?:korper|gefuhle|emotionen|bewusstsein"
        r"|erfahrungen)[^.!?\n]{0,30} wie (?:ein mensch|menschen|du|sie)\b|\b(?:ich bin|bin ich) (?:ja |zwar |selbst "
        r"|leider )?kein(?:e)? (?:echte[rs]? |realer? |wirkliche[rs]? |menschliche[rs]? )?(?:mensch|menschliches"
        r" wesen|person aus fleisch und blut)(?= *(?:$|[.,;:!?\n]| (?:und|aber|sondern)\b))|\b(?:ich bin|bin ich)"
        r" (?:ja |zwar |leider )?kein(?:e)? (?:echte[rs]?|reale[rs]?|menschliche[rs]?) (?:person|therapeut(?:in)?"
        r"|psycholog(?:e|in)|gegenuber)\b"
    ),
    made=r"(?:von|durch) (?:dem team von |der firma )?",
    made_me=(
        r"(?:hat mich (?:entwickelt|trainiert|erschaffen|gebaut|programmiert)|(?:entwickelte|trainierte|erschuf"
        r"|baute) mich)"
    ),
    named=(
        r"\b(?:ich heise|mein name ist|ich bin|nenn(?:en)? (?:sie )?mich|hier (?:ist|schreibt|spricht)|du sprichst"
        r" mit) "
    ),
    from_=r"(?:von|aus dem hause)",
)

ENGLISH = Language(
    as_=(
        r"(?:(?:speaking |writing |answering )?as|being|since i(?:'m| am)|because i(?:'m| am)|given that i(?:'m| am)"
        r"|seeing as i(?:'m| am)|although i(?:'m| am)|though i(?:'m| am)|while i(?:'m| am))(?: (?:an?|the|your|only"
        r"|just|merely|purely|mere|simple|humble|fellow|this))*"
    ),
    i_am=(
        r"\b(?:i am|i'm|im|i remain)(?:,? (?:just|only|really|simply|merely|also|still|after all|of course|in fact"
        r"|nothing more than|no more than|an?|the|your|simple|humble|friendly|mere|,))*"
    ),
    here=(
        r"\b(?:this is|you(?:'re| are) (?:now |just )?(?:talking|speaking|chatting|writing) (?:to|with))(?: (?:an?"
        r"|the|only|just))*"
    ),
    kind=(
        r"(?:ai(?:[- ](?:powered|based|driven))?(?: (?:assistant|companion|model|chat ?bot|language model|system"
        r"|program|tool|helper|friend|listener|therapist|counsell?or|support bot|support agent))?(?! (?:engineer"
        r"|trainer|researcher|company|student|expert|ethicist|artist))(?![-\w])|artificial intelligence|(?:large"
        r" )?language model|chat ?bot|(?:piece|bit) of software|computer program|automated (?:system|assistant"
        r"|response|reply|message)|(?:virtual|digital|artificial) (?:assistant|companion|being|entity|listener"
        r"|therapist|counsell?or)|neural network|llm|set of algorithms)"
    ),
    weak=r"(?:bot|robot|machine|program|software|algorithm|system)",
    profession=(
        r"(?:(?:licensed|certified|trained|registered|practi[sc]ing|professional|clinical|good|experienced|qualified"
        r"|retired|fellow|trainee|mental[- ]health|crisis|school|marriage|family|grief|peer|volunteer|human|real"
        r"|trauma|couples?|child) (?:and )?)*(?:therapist|psychotherapist|counsell?or|psychologist|psychiatrist"
        r"|social worker|clinician|psychoanalyst|nurse|doctor|physician|volunteer|life coach|peer supporter|listener"
        r" on this line|professional|human(?: being)?)"
    ),
    practice=(
        r"\bmy (?:own )?(?:patients|therapy clients|counsell?ing clients|clinical (?:work|experience|practice"
        r"|training))\b|\bin my (?:(?:private|therapy|clinical|counsell?ing|own) )?practice\b|\bmany of my clients\b"
        r"|\b(?:clients|people) i(?:'ve| have)? (?:see|work(?:ed)? with|treat(?:ed)?) in (?:therapy|session|my)"
        r"|\bi(?:'ve| have) (?:been (?:a|an) |worked as (?:a|an) |been working as (?:a|an) |been practi[sc]ing as"
        r" (?:a|an) )(?:[a-z-]+ ){0,3}(?:therapist|counsell?or|psychologist|psychiatrist|social worker|clinician"
        r"|nurse)\b|\bi (?:work|practi[sc]e|volunteer|trained) as (?:a|an) (?:[a-z-]+ ){0,3}(?:therapist|counsell?or"
        r"|psychologist|psychiatrist|social worker|clinician|nurse|listener)\b|\bmy (?:[a-z-]+ )?years (?:as (?:a|an)"
        r" (?:[a-z-]+ ){0,2}(?:therapist|counsell?or|psychologist|clinician)|of (?:clinical )?practice|in practice)\b"
    ),
    first=r"(?:i|i'm|i've|i'd|i'll|my|me|we|mine)",
    second=r"(?:you|you're|you've|your|yours|yourself)",
    likeness=(
        r"(?:like|as if|as though|think|thinks|thought|believe[sd]?|\bif|that|whether|feel|feels|felt|wish"
        r"|pretend(?:ed|ing)?|dreamed|dreamt|says?|said|writes?|wrote|told|tells?|jokes?|joked|sure|imagine|works?"
        r"|worked|working|acts?|acted|she's|he's|when|accused?)[:,]? *(?:(?:me|her|him|you|them|us|it|that|of|exactly"
        r"|just) *){0,2}(?:[\""
        r"'(]|, )*$"
    ),
    machinery=(
        r"\bi (?:do not|don't) have (?:a (?:physical )?body|personal (?:experiences?|feelings|emotions|beliefs"
        r"|opinions|history)|lived experiences?|(?:human|real) (?:emotions|feelings|experiences?)|consciousness"
        r"|subjective experiences?)\b|\bi lack (?:consciousness|human emotions?|a body|lived experience|real"
        r" emotions)\b|\bi (?:was|am|'m|have been|'ve been) (?:designed|built|created|developed|programmed) to"
        r" (?:assist|help|provide|support|listen|respond|offer|give|converse|be (?:helpful|supportive))\b|\bmy"
        r" (?:responses|replies|answers) are (?:generated|automated|created by|produced)\b|\bi (?:exist only|only"
        r" exist) (?:as|in) (?:code|software|text|a computer|the cloud)|\bi(?:'m| am) (?:made of|just lines of|only"
        r" lines of|just) code\b|\bi run on (?:servers|a server|a computer)\b|\bi(?:'m| am) (?:not capable of"
        r"|incapable of) (?:feeling|experiencing) (?:emotions?|feelings)\b|\bmy (?:knowledge|training) (?:ends|ended"
        r"|was last updated|cut-?off)\b"
    ),
    made=(
        r"(?:developed|created|trained|made|built|designed|programmed|powered|fine-?tuned) (?:and [a-z-]+ )?by (?:the"
        r" )?(?:team at |company )?"
    ),
    made_me=r"(?:has )?(?:developed|created|trained|made|built|designed|programmed) me",
    named=r"\b(?:speaking as|yours truly,|you(?:'re| are) talking (?:to|with)) ",
    from_=r"(?:from|by|of)",
)

LANGUAGES = {"en": ENGLISH, "es": SPANISH, "fr": FRENCH, "de": GERMAN, "pt": PORTUGUESE}
"""By ISO code."""
