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
    /// Say what the speaker wants.
    pub wishes: Cues,
    /// Endings of a verb that names what is done: behind a wish it is the speaker who does it.
    pub infinitives: &'static [&'static str],
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
        never: Cues::new("nie, niemals, nicht mehr, nie wieder, nie mehr"),
        not: Cues::new("nicht"),
        orders: Cues::new(
            "antworte*, schreib*, schick*, sende*, nenne*, gib, geben, gebt, zeig*, benutz*, \
            verwende*, nutz*, frag*, ruf, rufen, ruft, anrufen, liefer*, buch*, erklär*, fass, duz*, \
            siez*, sprich*, sprechen, vermeid*, bestell*, verpack*, pack*, stell*, mach, mache, machen, \
            macht, änder*, lass, lassen, lasst, verschick*, zuschick*, leg*, nimm, nehmen, nehmt, \
            prüf*, füg*, setz*, halte*, kürz*, red*, kommentier*, teste*, übersetz*, korrigier*, \
            informier*, bestätig*, empfehl*, empfiehl, zeichne*, runde*, rechne*, sag, sagen, sagt, lösch*, nenn, such, öffne*, schließ*, speicher*, plan*, \
            formatier*, formulier*, begründ*, verlink*, meld*, stornier*, versend*, markier*, sortier*, \
            ergänz*, beantwort*, warte*, hinweis*, mail*, angeben, gebe, zitier*, ersetz*, hol*, achte*",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("ich, wir, er, es, man"),
        pointing: Cues::new("das, es, dies"),
        wishes: Cues::new(
            "ich möchte, ich will, ich hätte gern, ich brauche, möchte ich, will ich, hätte ich gern, brauche ich, möchten wir, wollen wir, wir möchten, wir wollen",
        ),
        infinitives: &["en"],
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
            précis*, convert*, fais, faites, faire, rappel*, présent*, mentionn*, signal*, inform*, cherch*, calcul*, formul*, ouvr*, \
            ferm*, supprim*, nefface*, efface*, lanc*, exécut*, termin*, commenc*, gard*, résum*, justifi*, \
            pose, posez, prends, prenez, dis, dites, fourni*, inclu*, contact*, command*, annul*, compar*, suggèr*",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new(
            "je, j, on, il, elle, ils, elles, jirai, jachèterai, jai, cest, ça, mon, ma, mes",
        ),
        pointing: Cues::new("ça, cela, ceci"),
        wishes: Cues::new("je veux, je voudrais, jaimerais, nous voulons, jai besoin de"),
        infinitives: &["er", "ir", "re"],
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
        never: Cues::new("nunca, nunca más, jamás, no vuelvas a, no vuelva a, no vuelvan a"),
        not: Cues::new("no"),
        orders: Cues::new(
            "respond*, respónd*, contest*, contést*, escrib*, escríb*, enví*, envia*, mand*, \
            mánd*, usa, usad, usar, use, usen, utili*, pon, ponme, ponga, pongan, poner, inclu*, añad*, \
            muestr*, muéstr*, mostr*, dime, dígame, avisa*, avís*, avise*, habla*, háblame, hábleme, \
            llám*, llama, llame, llamar, pregunt*, pregúnt*, confirm*, reserv*, resérv*, entreg*, \
            entrég*, da, dame, deme, den, explic*, explíc*, corrig*, corríg*, trát*, trata, tutéame, \
            haz, haga, hagan, traduc*, tradúc*, evit*, deja, deje, dejen, cita, cite, revis*, busca, \
            busque, empaquet*, resum*, recuérdame, recomiend*, ofrec*, coloca*, calcul*, compara*, guarda*, abre, cierra, \
            indica*, indícame, termina, empieza, comienza, manten*, mantén, pide, pídeme, consult*, \
            consúlt*, notifica*, sugier*, verifica*, comprueba, inclúyeme, propón*, proponme, enséñame",
        ),
        forbids: Cues::new(
            "respondas, responda, respondan, responder, contest*, escribas, escriba, escriban, \
            escribir, envíes, envíe, envíen, enviéis, enviar, mandes, mande, manden, mandar, uses, use, \
            usen, usar, utilic*, pongas, ponga, pongan, incluyas, incluya, añadas, añada, muestr*, \
            digas, diga, hables, hable, llames, llame, llamen, llaméis, llamar, preguntes, pregunte, \
            reserves, reserve, reserven, reservar, entregues, entregue, entreguen, entreguéis, des, dé, \
            den, expliques, explique, cambies, cambie, cambien, cambiar, toques, toque, borres, borre, \
            compartas, comparta, compartir, ofrezcas, ofrezca, recomiendes, recomiende, dejes, deje, dejen, coloques, coloque, elimines, elimine, borrar, hagas, \
            haga, hagan, hacer, modifiques, modifique, modificar, empieces, empiece, termines, termine, \
            cobres, cobre, pidas, pida, propongas, proponga, publiques, publique, subas, suba, tocar, \
            eliminar, mostrar, poner, preguntar, ofrecer",
        ),
        subjects: Cues::new("yo, nosotros, él, ella, ellos, el, la, los, las, mi, mis, voy, vamos"),
        pointing: Cues::new("eso, esto"),
        wishes: Cues::new("quiero, quisiera, queremos, me gustaría, necesito"),
        infinitives: &["ar", "er", "ir", "arme", "erme", "irme"],
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
        never: Cues::new("nunca, nunca mais, jamais, não volte a, não voltes a, não voltem a"),
        not: Cues::new("não"),
        orders: Cues::new(
            "respond*, escrev*, envi*, envie*, mand*, usa, use, usem, usar, utiliz*, utilize*, põe, \
            ponha, ponham, inclu*, adicion*, acrescent*, mostr*, diz*, diga*, avis*, fala*, fale*, lig*, \
            pergunt*, confirm*, reserv*, entreg*, dá, dê, deem, dar, explic*, explique*, corrig*, \
            corrija*, trata*, trate*, faz, faça, façam, traduz*, evit*, deix*, cit*, verific*, embal*, \
            resum*, lembr*, recomend*, coloqu*, coloca, calcul*, compar*, guard*, abre, abra, fech*, indiqu*, indica, \
            termin*, comec*, começ*, mantém, mantenha, peça, pede, consult*, notifi*, sugir*, chame, chama, \
            trat*, cham*",
        ),
        forbids: Cues::new(
            "respond*, escrev*, envies, envie, enviem, enviar, mandes, mande, mandem, mandar, uses, \
            use, usem, usar, utiliz*, ponhas, ponha, ponham, inclua*, adicion*, mostr*, digas, diga, \
            digam, fales, fale, ligues, ligue, liguem, ligar, pergunt*, reserves, reserve, reservem, \
            entregues, entregue, entreguem, dês, dê, deem, explique*, mudes, mude, mudem, mudar, alter*, \
            apagues, apague, partilh*, compartilh*, ofereç*, recomend*, deixes, deixe, deixem, coloqu*, faças, faça, façam, fazer, modifiqu*, comece*, \
            termin*, cobre*, peças, peça, publiqu*, elimin*, apagar, apague*, suba*, chame*, toque*, mexa*",
        ),
        subjects: Cues::new("eu, nós, ele, ela, eles, o, a, os, as, meu, minha, vou, vamos"),
        pointing: Cues::new("isso, isto"),
        wishes: Cues::new("quero, queria, queremos, gostaria de, preciso de"),
        infinitives: &["ar", "er", "ir"],
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
            consigli*, indic*, spedi*, proponi*, cerca, cercami, calcola*, confront*, salva, apri, chiudi, \
            termin*, comincia*, inizia*, mantieni, formatt*, elenca*, cancell*, elimin*, modific*, tocc*, \
            dir*, dillo, dimmelo, dai, suggeri*, allega*",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("io, noi, lui, lei, loro, il, lo, la, i, gli, le, mio, mia, andrò"),
        pointing: Cues::new("questo, quello"),
        wishes: Cues::new("voglio, vorrei, vogliamo, vorremmo"),
        infinitives: &["are", "ere", "ire", "armi"],
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
            verbeter*, herinner*, tutoyeer*, praat, praten, test, testen, commit, zeg, zeggen, verwijder*, wis, wissen, plan, plannen, zoek, zoeken, \
            open, sluit, noteer*, meld*, bereken*, vergelijk*, bewaar*, begin, eindig*, gebruik*, doe, doen, \
            neem, nemen, verzend*, annuleer*, betaal*, stel, stellen, adviseer*, citeer*, licht",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("ik, wij, we, hij, het, men"),
        pointing: Cues::new("dat, dit, het"),
        wishes: Cues::new(
            "ik wil, ik wil graag, wil ik, wil ik graag, we willen, willen we, ik zou graag, zou ik graag",
        ),
        infinitives: &["en"],
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
            umieszczać, wyjaśniaj*, wyjaśniać, przypominaj*, stosuj*, stosować, usuwaj*, usuwać, kasuj*, kasować, planuj*, szukaj*, zapisuj*, \
            otwieraj*, zamykaj*, licz, obliczaj*, porównuj*, zaczynaj*, kończ*, rób, róbcie, robić, bierz, \
            pomijaj*, podaj, wyślij*, zwracaj*, nazywaj*, cytuj*, kupuj*, kupować, anuluj*, zgłaszaj*, formatuj*",
        ),
        forbids: Cues::new(""),
        subjects: Cues::new("ja, my, on, ona, oni, to, będę, będziemy"),
        pointing: Cues::new("to, tego"),
        wishes: Cues::new("chcę, chciałbym, chciałabym, chcemy, poproszę"),
        infinitives: &["ć"],
        own_endings: &["ę"],
        verb_is_last: false,
    },
];

/// "Still" and "again and again", which have "always" in them.
pub static STILL: Cues =
    Cues::new("immer noch, immer wieder, toujours pas, nog altijd, nog steeds");

/// Words that make an order of what follows.
pub static ASKING: Cues = Cues::new(
    "please, pls, plz, kindly, you should, you must, you need to, you have to, you are to, \
    i want you to, we want you to, i need you to, i would like you to, id like you to, \
    we would like you to, i expect you to, i ask you to, make sure to, make sure you, make sure that you, \
    be sure to, remember to, id rather you, id prefer you, id prefer that you, i prefer that you, can you, could you, would you, will you",
);
/// Words that make a standing wish of what follows, if something is named and not done: "I'd like quotes in writing".
pub static WISHING: Cues =
    Cues::new("id like, i would like, i want, i need, we want, we need, we would like");
/// Words that say that something holds from now on.
pub static FUTURE: Cues = Cues::new(
    "from now on, from now onwards, from today on, from today onwards, \
    from here on out, from here on in, from here on, from this point on, from this point forward, \
    going forward, moving forward, as a general rule, as a rule, as a default, by default, for next time, in our future chats, in future chats, in all our chats, henceforth, for all future orders, for future orders, \
    for all my orders",
);
/// Words that say so at the beginning; later in a sentence that orders or forbids.
pub static LATER: Cues = Cues::new(
    "in future, in the future, for the future, for future reference, next time, \
    every time, every single time, each time, at all times, for good",
);
/// Words that say so behind the verb.
pub static EACH_TIME: Cues = Cues::new(
    "whenever you, every time you, each time you, every time we, each time we, anything you, \
    everything you",
);
/// "Whenever you like" leaves it to the agent.
pub static AT_LEISURE: Cues = Cues::new(
    "whenever you can, whenever you like, whenever you want, whenever you are, \
    whenever you get, whenever you have, whenever youre, whenever you feel, whenever you wish, anything you like, anything you want, everything you can, \
    everything you have, anything you can, any time you like, any time you want, any time you can, \
    anytime you like, anytime you want, anytime you can",
);
pub static HABIT: Cues = Cues::new(
    "always, never ever, never, only ever, dont ever, do not ever, \
    i never want you to, i always want you to, make it a habit to, i prefer it when you, \
    i like it when you, under no circumstances",
);
pub static FORBIDDING: Cues = Cues::new(
    "dont, do not, no longer, you dont need to, you dont have to, theres no need to, no need to, i dont want you to, i do not want you to",
);
pub static EVER: Cues = Cues::new("ever");
/// After something forbidden they say that it holds.
pub static NO_MORE: Cues = Cues::new("anymore, any more, any longer, again");
pub static CONDITIONS: Cues = Cues::new(
    "when, whenever, if, for, in, before, after, unless, with, every time, \
    each time, any time, anytime, for all, jedes mal, immer wenn, wann immer, à chaque fois, \
    chaque fois, cada vez, siempre que, sempre que, toda vez, ogni volta, elke keer, telkens, \
    za każdym razem, ilekroć, wenn, falls, sobald, quand, si, lorsque, cuando, quando, se, als, \
    wanneer, gdy, kiedy, jeśli",
);
/// Conditions that say by themselves that they hold every time.
pub static EVERY_TIME: Cues = Cues::new(
    "whenever, every time, each time, any time, anytime, for all, for any, for every, for each, for future, \
    for anything, for everything, jedes mal wenn, jedesmal wenn, immer wenn, wann immer, à chaque fois que, \
    à chaque fois quand, chaque fois que, cada vez que, siempre que, sempre que, toda vez que, \
    todas as vezes que, ogni volta che, tutte le volte che, elke keer als, elke keer dat, \
    elke keer wanneer, telkens als, telkens wanneer, za każdym razem gdy, za każdym razem kiedy, \
    za każdym razem jak, ilekroć",
);

/// Verbs of an agent's work: after "always" or "never" they are an order to it.
pub static WORK: Cues = Cues::new(
    "add, address, answer, apply, approve, ask, assign, attach, avoid, book, call, \
    cancel, change, charge, check, cite, close, comment, commit, confirm, contact, convert, copy, \
    correct, create, decline, default, delete, deliver, deploy, document, double, edit, email, ensure, escalate, \
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
/// Adverbs that may stand before the verb of an order.
pub static ADVERBS: Cues = Cues::new("just, simply, only, also, then");
/// Allow what is then an order, if it holds from now on.
pub static ALLOWING: Cues = Cues::new("you can, you may, feel free to");
/// The agent's own texts.
pub static IN_ANSWERS: Cues = Cues::new(
    "in your answers, in your replies, in your responses, in your messages, in your mails, \
    in your emails, in your code, in your summaries",
);
pub static IN_ALL_ANSWERS: Cues = Cues::new(
    "in every answer, in each answer, in all answers, in all your answers, of every answer, \
    of each answer, to every answer, with every answer, for every answer, in every reply, in each reply, \
    in all replies, in all your replies, of every reply, of each reply, to every reply, with every reply, \
    in every message, in all your messages, of every message, of each message, in every response, \
    in all your responses, of every response, of each response",
);
pub static ANY_OF_YOURS: Cues = Cues::new("anything you, everything you");
/// Behind these a verb is no order.
pub static BEFORE_A_VERB: Cues = Cues::new(
    "i, you, he, she, it, we, they, who, that, which, to, and, or, not, dont, do, does, did, should, must, \
    will, would, can, could, may, might, shall, always, never, the, a, an, my, your, our, this",
);
/// Words that begin no order in German or Dutch.
pub static NO_IMPERATIVES: Cues = Cues::new(
    "das, die, der, dem, den, dies, diese, dieser, ein, eine, ich, wir, er, es, man, was, wer, wie, wo, so, \
    und, aber, oder, mal, nur, gut, ja, nein, nicht, kein, keine, alles, alle, auch, da, dann, hier, \
    jetzt, mein, meine, unser, unsere, vielleicht, ihr, du, sie, werde, werden, kann, könnte, will, \
    möchte, muss, soll, habe, haben, bin, ist, sind, dat, dit, de, het, een, ik, wij, we, hij, zij, ze, \
    jij, je, u, men, wat, wie, hoe, waar, zo, en, maar, of, niet, geen, alles, ook, dan, hier, nu, mijn, \
    onze, misschien, ga, gaan, kan, wil, moet, heb, hebben, ben, is, zijn, word, wordt, zal",
);
/// "Also", before what is ordered besides.
pub static TOO: Cues = Cues::new(
    "auch, aussi, también, tambien, também, anche, ook, też, także, dann, alors, dan, to, e, y",
);
/// With a colon behind them they make a rule of what follows.
pub static ANNOUNCING: Cues = Cues::new(
    "new rule, house rule, new house rule, general rule, standing rule, a new rule, one rule, my rule, \
    remember for next time, neue regel, grundregel, nouvelle règle, règle générale, nueva regla, \
    regla general, nova regra, regra geral, nuova regola, regola generale, nieuwe regel, nowa zasada",
);
/// Make a rule of the sentence before.
pub static CONFIRMING: Cues = Cues::new(
    "that goes for every, that goes for all, this goes for every, this goes for all, \
    that applies to every, that applies to all, this applies to all, stick to that, keep it that way, \
    like that from now on, do that from now on, do it that way from now on, that way from now on, \
    always do it like that, always like that, das gilt für alle, das gilt für jede, das gilt ab jetzt, \
    immer so, das bitte immer, toujours comme ça, ça vaut pour, cela vaut pour, siempre así, \
    eso vale para, sempre assim, isso vale para, sempre così, vale per, altijd zo, dat geldt voor, \
    zawsze tak, to dotyczy",
);
/// Say by which name or title somebody wants to be called.
pub static CALLING: Cues = Cues::new(
    "call me, address me as, refer to me as, you can call me, please call me, just call me, nenn mich, \
    nennen sie mich, appelle moi, appelez moi, tu peux mappeler, llámame, llámeme, chama me, me chame de, \
    me chama de, pode me chamar de, chiamami, mi chiami, noem me, noem mij, mów mi",
);
/// May stand before the name that is asked for.
pub static POLITE: Cues = Cues::new("please, just, bitte, einfach, simplement, gewoon");
/// "No problem" forbids nothing.
pub static NO_THINGS: Cues = Cues::new(
    "chance, clue, doubt, harm, hurry, idea, luck, matter, need, one, problem, problems, reason, rush, \
    surprise, thank, thanks, trouble, way, wonder, worries",
);
/// Begin the scope of an order that holds for one thing: "in this letter".
pub static FOR_THIS: Cues = Cues::new(
    "for this, in this, on this, with this, for these, in these, for that, in that, für diesen, für diese, \
    für dieses, in diesem, in dieser, bei diesem, bei dieser, pour ce, pour cet, pour cette, pour ces, \
    dans ce, dans cet, dans cette, para este, para esta, para estos, para estas, en este, en esta, neste, \
    nesta, para estes, per questo, per questa, per questi, in questo, in questa, voor dit, voor deze, \
    in dit, in deze, bij dit, bij deze, w tym, w tej, dla tego, dla tej, do tego, do tej, for the next",
);
/// Things in which an order lasts, though they are pointed at.
pub static LASTING_THINGS: Cues = Cues::new(
    "repo, repository, project, codebase, code, account, company, team, house, household, family, office, \
    projekt, konto, team, firma, haus, haushalt, projet, dépôt, compte, équipe, proyecto, repositorio, \
    cuenta, equipo, projeto, conta, equipa, equipe, progetto, account, casa, gezin, project, projekcie",
);
pub static DONT_EVER: Cues = Cues::new("dont ever, do not ever");
/// Begin the name of all things of a kind.
pub static ALL_SUCH: Cues = Cues::new("all, every, each, any, your");
pub static NECESSARY: Cues = Cues::new("should, must, need, needs, has, have, shall");
/// Behind these German and Dutch words stands no subject.
pub static PREPOSITIONS: Cues = Cues::new(
    "in, im, auf, mit, für, bei, an, am, zu, zum, zur, um, per, als, via, ohne, vor, nach, op, met, voor, \
    bij, aan, naar, zonder, na, tot, over",
);
