//! Formulas of letters, and words that point at a text below. Phrases stand between commas; `*` continues a word.

use crate::offline::words::Cues;

/// Begin a letter to one person or to a company.
pub static SALUTATIONS: Cues = Cues::new(
    "dear, to whom it may concern, liebe, lieber, sehr geehrte, sehr geehrter, sehr geehrtes, cher, chère, \
    madame, monsieur, bonjour madame, bonjour monsieur, estimado, estimada, querido, querida, \
    muy señor mío, prezado, prezada, caro, cara, exmo, exma, gentile, egregio, egregia, spettabile, \
    spett, geachte, beste, szanowny, szanowna, drogi, droga",
);
/// Begin a letter to several people: it is not for the agent, wherever it stands.
pub static SALUTATIONS_TO_MANY: Cues = Cues::new(
    "hi all, hi everyone, hi everybody, hi team, hi folks, hey all, hey everyone, hey team, hello all, \
    hello everyone, hello team, dear all, dear colleagues, dear team, dear customer, dear customers, \
    dear residents, dear tenants, dear neighbours, dear neighbors, dear parents, dear students, \
    dear sir, dear madam, dear guests, dear members, hallo zusammen, hallo alle, hallo team, liebe alle, \
    liebe kollegen, liebe kolleginnen, liebes team, liebe nachbarn, liebe mieter, liebe eltern, \
    liebe gäste, liebe kunden, liebe kundinnen, sehr geehrte damen, sehr geehrte kundin, \
    sehr geehrter kunde, bonjour à tous, bonjour à toutes, bonjour léquipe, salut à tous, chers, chères, \
    cher client, chère cliente, madame monsieur, hola a todos, hola equipo, estimados, estimadas, \
    queridos, queridas, estimado cliente, estimada clienta, olá a todos, oi pessoal, olá pessoal, \
    prezados, prezadas, caros, caras, caros colegas, prezado cliente, ciao a tutti, buongiorno a tutti, \
    cari, care, gentile cliente, gentili, hallo allemaal, beste allemaal, beste collega, beste collegas, \
    beste bewoner, beste bewoners, beste klant, geachte heer, geachte mevrouw, geachte klant, \
    cześć wszystkim, szanowni, drodzy, drogie",
);
/// Words that greet one person.
pub static GREETINGS: Cues = Cues::new(
    "hi, hello, hey, dear, hallo, guten, liebe, lieber, sehr, moin, servus, bonjour, salut, cher, chère, \
    hola, buenos, buenas, estimado, estimada, olá, oi, bom, boa, caro, cara, prezado, ciao, salve, \
    buongiorno, buonasera, gentile, beste, geachte, dag, cześć, dzień, witam, szanowny, szanowna",
);
/// End a letter.
pub static CLOSINGS: Cues = Cues::new(
    "best, best regards, kind regards, warm regards, regards, sincerely, yours sincerely, yours truly, \
    yours faithfully, best wishes, all the best, cheers, mit freundlichen grüßen, mit freundlichem gruß, \
    viele grüße, beste grüße, liebe grüße, freundliche grüße, herzliche grüße, mfg, lg, cordialement, \
    bien cordialement, bien à vous, meilleures salutations, salutations, atentamente, saludos, \
    un saludo, un cordial saludo, saludos cordiales, atenciosamente, cumprimentos, \
    com os melhores cumprimentos, melhores cumprimentos, abraço, cordiali saluti, distinti saluti, \
    saluti, un saluto, met vriendelijke groet, met vriendelijke groeten, vriendelijke groet, groeten, \
    hoogachtend, z poważaniem, pozdrawiam, z wyrazami szacunku",
);
/// Words of a line that is followed by the text it speaks of.
pub static POINTING_DOWN: Cues = Cues::new(
    "this, these, below, following, attached, tldr, tl dr, summarise, summarize, translate, proofread, \
    review, diesen, diese, dieses, dies, folgende*, unten, übersetz*, korrigier*, zusammenfass*, fass, \
    ce, cet, cette, ces, ceci, suivant*, traduis, traduisez, corrige, corriger, résume, résumez, este, esta, \
    estos, estas, esto, siguiente*, traduce, resume, isto, isso, seguinte*, abaixo, traduz, traduza, \
    corrija, resuma, questo, questa, questi, queste, seguente*, traduci, correggi, riassumi, dit, deze, \
    dat, hieronder, volgende, vertaal, vat, verbeter, ten, tę, tego, poniżej, poniższ*, następując*, \
    przetłumacz, popraw, streść",
);
