//! Words of standing orders. Phrases stand between commas; `*` continues a word.

use crate::offline::words::Cues;

/// Words that may stand before an order or a fact without changing it.
pub static LEAD_INS: Cues = Cues::new(
    "and, but, so, ok, okay, yes, yep, yeah, nope, also, oh, ah, well, \
    right, sure, cool, nice, perfect, good, great, fine, thanks, thank you, thx, alright, hi, hello, \
    hey, sorry, actually, by the way, btw, one more thing, one last thing, one thing, one request, \
    note, please note, if possible, und, aber, ja, nein, gut, okay, super, danke, ach ja, also noch, \
    übrigens, noch etwas, et, mais, oui, daccord, au fait, encore une chose, y, pero, sí, \
    vale, gracias, por cierto, una cosa más, e, mas, sim, obrigado, obrigada, já agora, a propósito, \
    mais uma coisa, ma, sì, grazie, comunque, unaltra cosa, maar, nee, dank je, bedankt, trouwens, \
    nog iets, ale, tak, dzięki, dziękuję, przy okazji, jeszcze jedno",
);
/// Words that may stand before a comma, and belong to what follows without one.
pub static BEFORE_COMMA: Cues = Cues::new("no, non, merci");

/// Words of another language that make a standing order.
pub struct Elsewhere {
    /// Words between clauses that mean other things in other languages.
    pub joints: Cues,
    /// Pronouns before a verb: in Romance languages only a verb that forbids has them there.
    pub pronouns: Cues,
    pub please: Cues,
    pub future: Cues,
    pub always: Cues,
    pub never: Cues,
    pub not: Cues,
    /// Forms of an agent's verbs that order something.
    pub orders: Cues,
    /// Forms that forbid, if those differ.
    pub forbids: Cues,
    /// The speaker's own plans, and others as subjects, are no order.
    pub subjects: Cues,
    /// Point at something outside of the sentence.
    pub pointing: Cues,
    /// Endings of a verb that says what the speaker does or will do.
    pub own_endings: &'static [&'static str],
    /// The verb may stand at the end.
    pub verb_is_last: bool,
}

pub static ELSEWHERE: [Elsewhere; 7] = [
    Elsewhere {
        joints: Cues::new(""),
        pronouns: Cues::new("mir, mich, uns, doch, dann"),
        please: Cues::new("bitte"),
        future: Cues::new(
            "ab jetzt, ab sofort, ab heute, von jetzt an, von nun an, in zukunft, künftig, \
            zukünftig, fortan, beim nächsten mal, nächstes mal",
        ),
        always: Cues::new("immer, nur noch, stets, grundsätzlich"),
        never: Cues::new("nie, niemals, nicht mehr"),
        not: Cues::new("nicht"),
        orders: Cues::new(
            "antworte*, schreib*, schick*, sende*, nenne*, gib, geben, gebt, zeig*, benutz*, \
            verwende*, nutz*, frag*, ruf, rufen, ruft, anrufen, liefer*, buch*, erklär*, fass, duz*, \
            siez*, sprich*, sprechen, vermeid*, bestell*, verpack*, pack*, stell*, mach, mache, machen, \
            macht, änder*, lass, lassen, lasst, verschick*, zuschick*, leg*, nimm, nehmen, nehmt, \
            prüf*, füg*, setz*, halte*, kürz*, red*, kommentier*, teste*, übersetz*, korrigier*, \
            informier*, bestätig*, empfehl*, empfiehl, zeichne*, runde*, rechne*, sag, sagen, sagt, lösch*",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("ich, wir, er, es, man"),
        pointing: Cues::new("das, es, dies"),
        own_endings: &[],
        verb_is_last: true,
    },
    Elsewhere {
        joints: Cues::new(""),
        pronouns: Cues::new("me, nous"),
        please: Cues::new("sil vous plaît, sil te plaît, veuillez, merci de, prière de, svp, stp"),
        future: Cues::new(
            "à partir de maintenant, à partir daujourdhui, désormais, dorénavant, à lavenir, \
            la prochaine fois",
        ),
        always: Cues::new("toujours, systématiquement"),
        never: Cues::new("jamais, ne jamais, plus jamais"),
        not: Cues::new("ne"),
        orders: Cues::new(
            "répond*, écri*, envo*, menvo*, nenvo*, utilis*, nutilis*, donn*, montr*, indiqu*, \
            demand*, appel*, mappel*, nappel*, livr*, réserv*, expliqu*, nexpliqu*, parl*, tutoi*, vouvo*, \
            mets, mettez, mettre, ajout*, najout*, évit*, laiss*, cit*, rédig*, traduis*, corrig*, \
            préven*, prévien*, confirm*, vérifi*, emball*, chang*, touch*, modifi*, propos*, recommand*, \
            précis*, convert*, fais, faites, faire, rappel*, présent*",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new(
            "je, j, on, il, elle, ils, elles, jirai, jachèterai, jai, cest, ça, mon, ma, mes",
        ),
        pointing: Cues::new("ça, cela, ceci"),
        own_endings: &["rai", "rons"],
        verb_is_last: false,
    },
    Elsewhere {
        joints: Cues::new(""),
        pronouns: Cues::new("me, nos, le"),
        please: Cues::new("por favor"),
        future: Cues::new(
            "a partir de ahora, de ahora en adelante, de aquí en adelante, desde ahora, \
            en el futuro, en adelante, la próxima vez",
        ),
        always: Cues::new("siempre"),
        never: Cues::new("nunca, nunca más, jamás"),
        not: Cues::new("no"),
        orders: Cues::new(
            "respond*, respónd*, contest*, contést*, escrib*, escríb*, enví*, envia*, mand*, \
            mánd*, usa, usad, usar, use, usen, utili*, pon, ponme, ponga, pongan, poner, inclu*, añad*, \
            muestr*, muéstr*, mostr*, dime, dígame, avisa*, avís*, avise*, habla*, háblame, hábleme, \
            llám*, llama, llame, llamar, pregunt*, pregúnt*, confirm*, reserv*, resérv*, entreg*, \
            entrég*, da, dame, deme, den, explic*, explíc*, corrig*, corríg*, trát*, trata, tutéame, \
            haz, haga, hagan, traduc*, tradúc*, evit*, deja, deje, dejen, cita, cite, revis*, busca, \
            busque, empaquet*, resum*, recuérdame, recomiend*, ofrec*",
        ),
        forbids: Cues::new(
            "respondas, responda, respondan, responder, contest*, escribas, escriba, escriban, \
            escribir, envíes, envíe, envíen, enviéis, enviar, mandes, mande, manden, mandar, uses, use, \
            usen, usar, utilic*, pongas, ponga, pongan, incluyas, incluya, añadas, añada, muestr*, \
            digas, diga, hables, hable, llames, llame, llamen, llaméis, llamar, preguntes, pregunte, \
            reserves, reserve, reserven, reservar, entregues, entregue, entreguen, entreguéis, des, dé, \
            den, expliques, explique, cambies, cambie, cambien, cambiar, toques, toque, borres, borre, \
            compartas, comparta, compartir, ofrezcas, ofrezca, recomiendes, recomiende, dejes, deje, dejen",
        ),
        subjects: Cues::new("yo, nosotros, él, ella, ellos, el, la, los, las, mi, mis, voy, vamos"),
        pointing: Cues::new("eso, esto"),
        own_endings: &["o", "ré", "remos"],
        verb_is_last: false,
    },
    Elsewhere {
        joints: Cues::new(""),
        pronouns: Cues::new("me, nos"),
        please: Cues::new("por favor, favor, se faz favor, agradeço que"),
        future: Cues::new(
            "a partir de agora, de agora em diante, daqui em diante, daqui para a frente, \
            doravante, no futuro, da próxima vez",
        ),
        always: Cues::new("sempre"),
        never: Cues::new("nunca, nunca mais, jamais"),
        not: Cues::new("não"),
        orders: Cues::new(
            "respond*, escrev*, envi*, envie*, mand*, usa, use, usem, usar, utiliz*, utilize*, põe, \
            ponha, ponham, inclu*, adicion*, acrescent*, mostr*, diz*, diga*, avis*, fala*, fale*, lig*, \
            pergunt*, confirm*, reserv*, entreg*, dá, dê, deem, dar, explic*, explique*, corrig*, \
            corrija*, trata*, trate*, faz, faça, façam, traduz*, evit*, deix*, cit*, verific*, embal*, \
            resum*, lembr*, recomend*",
        ),
        forbids: Cues::new(
            "respond*, escrev*, envies, envie, enviem, enviar, mandes, mande, mandem, mandar, uses, \
            use, usem, usar, utiliz*, ponhas, ponha, ponham, inclua*, adicion*, mostr*, digas, diga, \
            digam, fales, fale, ligues, ligue, liguem, ligar, pergunt*, reserves, reserve, reservem, \
            entregues, entregue, entreguem, dês, dê, deem, explique*, mudes, mude, mudem, mudar, alter*, \
            apagues, apague, partilh*, compartilh*, ofereç*, recomend*, deixes, deixe, deixem",
        ),
        subjects: Cues::new("eu, nós, ele, ela, eles, o, a, os, as, meu, minha, vou, vamos"),
        pointing: Cues::new("isso, isto"),
        own_endings: &["o", "rei", "remos"],
        verb_is_last: false,
    },
    Elsewhere {
        joints: Cues::new(""),
        pronouns: Cues::new("mi, ci"),
        please: Cues::new("per favore, per piacere, per cortesia"),
        future: Cues::new(
            "dora in poi, da ora in poi, dora in avanti, da adesso in poi, da oggi in poi, \
            in futuro, per il futuro, la prossima volta",
        ),
        always: Cues::new("sempre"),
        never: Cues::new("mai, mai più, non mai"),
        not: Cues::new("non"),
        orders: Cues::new(
            "rispond*, scriv*, invi*, mand*, usa, usate, usi, usare, utilizz*, metti*, mettete, \
            mettere, includ*, aggiung*, mostr*, dimmi, dica, avvis*, parla, parlami, parlate, parlare, \
            chiam*, chied*, conferm*, prenot*, consegn*, dammi, date, dare, spieg*, corregg*, dammi, \
            fai, fate, fare, traduc*, evit*, lasc*, cita, citare, verific*, imball*, riassum*, ricord*, \
            consigli*, indic*, spedi*",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("io, noi, lui, lei, loro, il, lo, la, i, gli, le, mio, mia, andrò"),
        pointing: Cues::new("questo, quello"),
        own_endings: &["o", "rò", "remo"],
        verb_is_last: false,
    },
    Elsewhere {
        joints: Cues::new("en, ook, dan"),
        pronouns: Cues::new("mij, me, ons"),
        please: Cues::new("alstublieft, alsjeblieft, aub, graag, gelieve"),
        future: Cues::new(
            "voortaan, vanaf nu, van nu af aan, vanaf vandaag, in het vervolg, in de toekomst, \
            de volgende keer",
        ),
        always: Cues::new("altijd, alleen nog, steeds"),
        never: Cues::new("nooit, nooit meer, niet meer"),
        not: Cues::new("niet, geen"),
        orders: Cues::new(
            "antwoord*, beantwoord*, schrijf*, schrijven, stuur*, sturen, gebruik*, verander*, noem*, \
            geef, geven, toon, tonen, laat, laten, vraag, vragen, bel, bellen, bezorg*, lever*, boek*, \
            leg, leggen, vertaal*, vertalen, vermeld*, zet, zetten, maak, maken, spreek, spreken, hou, \
            houd, controleer*, bevestig*, voeg, verpak*, mail, mailen, wijzig*, reserveer*, corrigeer*, \
            verbeter*, herinner*, tutoyeer*, praat, praten, test, testen, commit, zeg, zeggen",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("ik, wij, we, hij, het, men"),
        pointing: Cues::new("dat, dit, het"),
        own_endings: &[],
        verb_is_last: true,
    },
    Elsewhere {
        joints: Cues::new("i, a, też"),
        pronouns: Cues::new("mi, nam"),
        please: Cues::new("proszę, poproszę, prosiłbym, prosiłabym"),
        future: Cues::new(
            "od teraz, od dziś, od dzisiaj, odtąd, od tej pory, na przyszłość, w przyszłości, \
            następnym razem",
        ),
        always: Cues::new("zawsze"),
        never: Cues::new("nigdy, nigdy więcej, nigdy nie, nigdy więcej nie"),
        not: Cues::new("nie"),
        orders: Cues::new(
            "odpowiadaj*, odpowiadać, pisz, piszcie, pisać, wysyłaj*, wysyłać, przysyłaj*, \
            przysyłać, używaj*, używać, podawaj*, podawać, pokazuj*, pokazywać, pytaj*, pytać, dzwoń*, \
            dzwonić, dostarczaj*, dostarczać, rezerwuj*, rezerwować, tłumacz*, mów, mówcie, mówić, \
            dodawaj*, dodawać, dawaj*, dawać, zmieniaj*, zmieniać, pakuj*, pakować, potwierdzaj*, \
            potwierdzać, sprawdzaj*, sprawdzać, polecaj*, proponuj*, unikaj*, unikać, zostawiaj*, \
            zostawiać, informuj*, informować, poprawiaj*, poprawiać, zwracaj*, zwracać, umieszczaj*, \
            umieszczać, wyjaśniaj*, wyjaśniać, przypominaj*, stosuj*, stosować, usuwaj*, usuwać",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("ja, my, on, ona, oni, to, będę, będziemy"),
        pointing: Cues::new("to, tego"),
        own_endings: &["ę"],
        verb_is_last: false,
    },
];

/// "Still" and "again and again", which have "always" in them.
pub static STILL: Cues =
    Cues::new("immer noch, immer wieder, toujours pas, nog altijd, nog steeds");

/// Words that make an order of what follows.
pub static ASKING: Cues = Cues::new(
    "please, kindly, you should, you must, you need to, you have to, you are to, \
    i want you to, we want you to, i need you to, i would like you to, id like you to, \
    we would like you to, i expect you to, i ask you to, make sure to, make sure you, make sure that you, \
    be sure to, remember to, can you, could you, would you, will you",
);
/// Words that make a standing wish of what follows, if something is named and not done: "I'd like quotes in writing".
pub static WISHING: Cues =
    Cues::new("id like, i would like, i want, i need, we want, we need, we would like");
/// Words that say that something holds from now on.
pub static FUTURE: Cues = Cues::new(
    "from now on, from now onwards, from today on, from today onwards, \
    from here on out, from here on in, from here on, from this point on, from this point forward, \
    going forward, moving forward, henceforth, for all future orders, for future orders, \
    for all my orders",
);
/// Words that say so at the beginning; later in a sentence that orders or forbids.
pub static LATER: Cues = Cues::new(
    "in future, in the future, for the future, for future reference, next time, \
    every time, every single time, each time, at all times, for good",
);
/// Words that say so behind the verb.
pub static EACH_TIME: Cues = Cues::new("whenever you, every time you, each time you");
/// "Whenever you like" leaves it to the agent.
pub static AT_LEISURE: Cues = Cues::new(
    "whenever you can, whenever you like, whenever you want, whenever you are, \
    whenever you get, whenever you have, whenever youre, whenever you feel, whenever you wish",
);
pub static HABIT: Cues = Cues::new(
    "always, never ever, never, only ever, dont ever, do not ever, \
    i never want you to, i always want you to, under no circumstances",
);
pub static FORBIDDING: Cues =
    Cues::new("dont, do not, no longer, i dont want you to, i do not want you to");
pub static EVER: Cues = Cues::new("ever");
/// After something forbidden they say that it holds.
pub static NO_MORE: Cues = Cues::new("anymore, any more, any longer, again");
pub static CONDITIONS: Cues = Cues::new(
    "when, whenever, if, for, before, after, unless, with, every time, \
    each time, any time, anytime, wenn, falls, sobald, quand, si, lorsque, cuando, quando, se, als, \
    wanneer, gdy, kiedy, jeśli",
);
/// Conditions that say by themselves that they hold every time.
pub static EVERY_TIME: Cues = Cues::new("whenever, every time, each time, any time, anytime");

/// Verbs of an agent's work: after "always" or "never" they are an order to it.
pub static WORK: Cues = Cues::new(
    "add, address, answer, apply, approve, ask, assign, attach, avoid, book, call, \
    cancel, change, charge, check, cite, close, comment, commit, confirm, contact, convert, copy, \
    correct, create, decline, delete, deliver, deploy, document, double, edit, email, ensure, escalate, \
    estimate, explain, file, fill, format, forward, greet, include, inform, install, issue, link, list, \
    log, mail, mention, merge, message, modify, name, notify, offer, open, order, pack, phone, post, \
    prepare, process, propose, provide, push, put, quote, recommend, redirect, refactor, refer, refund, \
    remind, remove, rename, reopen, replace, reply, report, request, reschedule, resend, reserve, \
    respond, restart, return, review, round, run, save, schedule, send, share, ship, show, sign, sort, \
    spell, start, state, submit, substitute, suggest, summarise, summarize, tag, test, text, touch, \
    transfer, translate, update, upgrade, upload, use, verify, wrap, write",
);
/// Those that are as often nouns: "log entries vanish".
pub static NOUNS_TOO: Cues = Cues::new(
    "address, answer, comment, email, file, issue, link, list, log, mail, message, \
    name, order, post, report, request, state, test, text, update",
);
/// Words that begin what such a verb is about.
pub static ITS_OBJECT: Cues =
    Cues::new("the, a, an, it, me, us, my, our, all, every, each, them, to");
/// Verbs that are an order with a word about the future, and everyday words without.
pub static WITH_FUTURE: Cues = Cues::new(
    "assume, be, begin, bring, choose, consider, consult, drop, follow, give, \
    handle, hold, invite, jump, keep, leave, let, limit, look, make, pick, prioritise, prioritize, \
    read, say, skip, speak, stay, stick, stop, switch, take, talk, tell, treat, wait",
);
/// After "always" or "never" these are no order, whatever follows.
pub static NO_VERBS: Cues = Cues::new(
    "a, about, again, all, an, and, any, anyone, anything, as, at, available, bad, \
    been, before, better, but, by, came, did, ever, felt, fine, for, forget, found, from, gave, give, \
    glad, go, good, got, great, had, happy, has, have, heard, helpful, here, how, i, if, in, is, it, its, \
    just, knew, know, late, less, let, love, loved, made, me, met, mind, mine, more, my, nice, no, not, \
    of, on, once, one, or, our, out, paid, quite, said, same, saw, say, sent, since, so, some, something, \
    such, sure, than, that, the, there, these, they, this, those, thought, to, told, too, tried, true, \
    trust, trusted, understood, up, us, very, was, we, welcome, went, were, what, when, where, who, why, \
    will, with, worked, would, wrong, you, your",
);
/// Point at something outside of the sentence: it is no rule by itself.
pub static POINTING_AWAY: Cues = Cues::new("it, this, that, these, those, them, so");
/// Begin the name of one thing that both know of.
pub static DEFINITE: Cues =
    Cues::new("the, this, that, these, those, it, them, so, my, our, both, either");
/// The matter at hand.
pub static THIS_TIME: Cues = Cues::new(
    "this order, that order, this one, that one, this time, just this once, \
    right now, just now, for now, at the moment, for the moment, today, tonight, tomorrow, this item, \
    these items, this purchase, this booking, this reservation, this flight, this trip, this request, \
    this case, this return, this exchange, this ticket, this conversation, this chat, this session, \
    this thread, this file, this test, this week, this weekend, this month, in mind, the rest of, \
    send again, try again, heute noch, diesmal, dieses mal, diese bestellung, im moment, vorerst, \
    aujourdhui, cette fois, cette commande, pour linstant, ce soir, esta vez, hoy, este pedido, \
    por ahora, esta noche, desta vez, hoje, este pedido, por enquanto, esta encomenda, stavolta, \
    questa volta, per ora, per adesso, questo ordine, stasera, deze keer, dit keer, voor nu, \
    deze bestelling, vanavond, tym razem, na razie, dzisiaj wieczorem, to zamówienie",
);
/// Words that join a clause to the one before.
pub static JOINTS: Cues =
    Cues::new("and, but, so, also, und, aber, et, mais, y, pero, e, mas, ma, en, maar, i, ale");
