//! Words that take back what was said. Phrases stand between commas; `*` continues a word.

use crate::offline::words::Cues;

/// Take back the sentence or the turn right before.
pub static WITHDRAWN: Cues = Cues::new(
    "forget it, never mind, nevermind, no wait, wait no, actually no, hmm no, dont change anything, \
    do not change anything, leave it as it is, leave it as it was, not that one, vergiss es, \
    vergessen sie es, doch nicht, doch lieber nicht, lieber doch nicht, ach nein, ach nee, nein doch, \
    oublie*, laisse tomber, laissez tomber, finalement non, en fait non, ou plutôt non, olvídalo, \
    olvídelo, olvida*, mejor no, en realidad no, al final no, déjalo, esquece*, esqueça, deixa estar, \
    deixa pra lá, afinal não, melhor não, na verdade não, lascia stare, lascia perdere, anzi no, \
    meglio di no, laat maar, vergeet het, vergeet dat, toch niet, toch maar niet, nieważne, zapomnij*, \
    jednak nie, albo nie, a jednak",
);
/// Take back something that was said, however long ago.
pub static TAKEN_BACK: Cues = Cues::new(
    "forget that, forget what i, forget i said, forget about that, forget my, scratch that, strike that, \
    scrap that, scrap the rule, drop that rule, ignore that, ignore what i, disregard that, \
    disregard what, that rule, that no longer applies, just kidding, only kidding, im kidding, was kidding, lol kidding, just joking, \
    only joking, im joking, was joking, was a joke, i take that back, i take it back, on second thought, \
    on second thoughts, changed my mind, i misspoke, came out wrong, i was wrong, lets stick with, lets stay with, lets keep it, wrong chat, \
    wrong window, another chat, other chat, for someone else, autocorrect, as before please, \
    like before, back to normal, write normally, answer normally, reply normally, talk normally, \
    go back to, switch back, change back, vergiss das, vergessen sie das, lass das, lassen sie das, \
    nehme das zurück, nehm das zurück, nehme ich zurück, streich das, ignorier das, war nur spaß, \
    nur ein scherz, ein scherz, war ein witz, habe mich vertan, hab mich vertan, habe mich geirrt, \
    hab mich geirrt, habe mich verschrieben, falscher chat, bleiben wir beim, bleiben wir doch, bleiben wir lieber, wie vorher, wie bisher, wie früher, \
    wieder normal, schreib normal, schreib ganz normal, antworte normal, anders überlegt, je plaisante, je rigole, une blague, je me suis trompé, \
    je me suis trompée, jai changé davis, comme avant, reviens à, reviens au, revenez au, revenons, \
    annule ça, retire ce que, écris normalement, réponds normalement, es broma, era broma, una broma, me equivoqué, me he equivocado, \
    cambié de opinión, he cambiado de opinión, como antes, vuelve al, vuelve a, volvamos, retiro lo, \
    cancela eso, pensándolo bien, brincadeira, brincando, enganei me, me enganei, mudei de ideia, \
    voltar ao, volta ao, volte ao, voltemos, pensando bem, retiro o que, scherzavo, scherzo, \
    come non detto, mi sono sbagliato, mi sono sbagliata, ho cambiato idea, come prima, torniamo, \
    torna a, torna al, ripensandoci, grapje, bij nader inzien, van gedachten veranderd, \
    vergiste me, heb me vergist, zoals eerst, zoals voorheen, terug naar, weer normaal, gewoon weer, \
    żartowałem, żartowałam, żartuję, żart, pomyliłem się, pomyliłam się, zmieniłem zdanie, \
    zmieniłam zdanie, jak wcześniej, jak przedtem, wróć do, wróćmy, wracamy, cofam, odwołuję",
);
/// Undo something that is named beside them.
pub static UNDOING: Cues = Cues::new(
    "forget, scrap, drop, undo, no more, no need, not needed, dont need, do not need, doesnt matter, \
    never mind, nevermind, after all, anymore, any more, any longer, no longer, back to, lass, lasst, \
    vergiss, weglassen, wieder weg, nicht mehr, brauche ich nicht, doch, arrête, arrêtez, plus besoin, \
    pas besoin, finalement, quand même, olvida, olvide, deja, deje, ya no, no hace falta, al final, \
    esquece, esqueça, deixa, deixe, já não, não precisa, não preciso, afinal, lascia, non serve, \
    non servono, non più, alla fine, laat, vergeet, niet meer, hoeft niet, toch, zostaw, zapomnij, \
    już nie, nie trzeba, jednak",
);
/// Allow again something that was forbidden and is named beside them.
pub static PERMITTING: Cues = Cues::new(
    "is fine, are fine, is ok, are ok, is okay, are okay, you can, you may, ist ok, sind ok, darfst, \
    dürfen, kannst, tu peux, vous pouvez, puedes, puede, está bien, pode, podes, puoi, può, va bene, \
    mag, mogen, kun, kunt, możesz, może",
);
/// Names of languages, each with all its forms, and words that choose another.
pub static LANGUAGES: [Cues; 8] = [
    Cues::new("english, englisch*, anglais, inglés, inglês, inglese, engels, angielsk*"),
    Cues::new("german, deutsch*, allemand, alemán, alemão, tedesco, duits, niemieck*"),
    Cues::new("french, französisch*, français, francés, francês, francese, frans, francusk*"),
    Cues::new("spanish, spanisch*, espagnol, español, espanhol, spagnolo, spaans, hiszpańsk*"),
    Cues::new(
        "portuguese, portugiesisch*, portugais, portugués, português, portoghese, portugees, portugalsk*",
    ),
    Cues::new("italian, italienisch*, italien, italiano, allitaliano, italiaans, włosk*"),
    Cues::new(
        "dutch, niederländisch*, holländisch*, néerlandais, neerlandés, holandés, holandês, olandese, nederlands, holendersk*, niderlandzk*",
    ),
    Cues::new("polish, polnisch*, polonais, polaco, polonês, polacco, pools, polsk*"),
];
pub static CHOOSING: Cues = Cues::new(
    "better, rather, instead, again, prefer, stick, keep, switch, back, lieber, besser, doch, wieder, \
    bleib*, plutôt, mieux, de nouveau, préfère, mejor, prefiero, de nuevo, otra vez, vuelve, melhor, \
    prefiro, de novo, volta, meglio, preferisco, di nuovo, liever, beter, toch, weer, lepiej, wolę, \
    jednak, znowu, znów",
);
/// Deny something of oneself.
pub static DENYING: Cues = Cues::new(
    "not, never, no longer, dont, didnt, isnt, arent, im not, havent, wasnt, nicht, kein, keine, keinen, nie, \
    pas, jamais, plus, no, nunca, jamás, não, nunca, non, mai, niet, geen, nooit, nie, nigdy",
);
/// Words of oneself that need not begin a sentence.
pub static OF_ONESELF: Cues = Cues::new("i, im, ive, ich, je, yo, eu, io, ik, ja");
/// Begin an order not to do something.
pub static FORBIDDEN_NOW: Cues = Cues::new(
    "dont, do not, please dont, please do not, stop, please stop, you can stop, no more, hör auf, \
    bitte nicht, bitte keine, keine, kein, ne, arrête, arrêtez, no me, ya no, não me, non, smetti, geen, \
    niet, stop met, nie, proszę nie",
);
