//! Words that say that something is not meant, or not said by the user, or not to be kept.

use crate::offline::words::Cues;

/// A text is to be made, and its words are not an order to the agent.
pub static WRITING: Cues = Cues::new(
    "write a, write an, write this, write the following, write me a, write us a, \
    draft a, draft an, draft me, compose a, compose an, post this, announce that, translate, \
    proofread, rephrase, reword, paraphrase, how do i say, how do you say, broadcast, tell everyone, \
    tell everybody, tell the team, tell my team, tell them, tell him, tell her, tell my, let my team know, \
    let everyone know, remind everyone, inform all, schreib eine, schreib einen, schreibe eine, \
    schreibe einen, verfass*, übersetz das, übersetze das, übersetze ins, sag dem team, sag allen, \
    rédige un, rédige une, écris un, écris une, traduis, dis à, dis leur, annonce à, redacta un, \
    redacta una, escribe un, escribe una, traduce, dile a, diles, redige um, redige uma, escreve um, \
    escreve uma, escreva um, escreva uma, traduz, diz a, diz ao, diz à, diga a, scrivi un, scrivi una, \
    traduci, di a, dì a, schrijf een, vertaal, zeg tegen, napisz, przetłumacz, powiedz zespołowi",
);
/// Verbs that make a thing; what such a sentence says of it is no rule for the agent.
pub static MAKING: Cues = Cues::new(
    "add, build, code, create, compose, design, develop, draft, generate, implement, make, prepare, \
    produce, program, set up, write, bau, baue, bauen, erstell, erstelle, erstellen, entwirf, entwickle, \
    mach, mache, programmier, programmiere, schreib, schreibe, füg, füge, crée, créez, crées, fais, \
    faites, ajoute, ajoutez, conçois, écris, écrivez, rédige, rédigez, développe, crea, cree, haz, \
    escribe, escriba, redacta, redacte, diseña, añade, desarrolla, prepara, prepare, cria, crie, faz, \
    faça, escreve, escreva, redige, redija, desenvolve, desenvolva, adiciona, adicione, scrivi, scriva, \
    fai, fammi, aggiungi, progetta, sviluppa, realizza, maak, bouw, ontwerp, schrijf, ontwikkel, voeg, \
    zrób, stwórz, utwórz, napisz, zbuduj, zaprojektuj, dodaj, przygotuj, opracuj",
);
/// Words that may stand between such a verb and the thing that it makes.
pub static FOR_WHOM: Cues =
    Cues::new("me, us, mir, uns, moi, nous, me, nos, mi, ci, mij, ons, mi, nam, please, bitte");
/// Begin the name of a thing that is yet to be made.
pub static A_NEW_ONE: Cues = Cues::new(
    "a, an, another, some, two, three, ein, eine, einen, un, une, des, una, unas, unos, um, uma, umas, uns, \
    uno, een, nowy, nową, nowe, jakiś, jakąś",
);
/// Say what somebody or something should do.
pub static SHOULD: Cues = Cues::new(
    "should, must, shall, needs, has, have, will, may, cannot, soll, sollen, sollte, sollten, muss, müssen, \
    darf, dürfen, doit, doivent, devrait, debe, deben, debería, tiene, deve, devem, deveria, devono, \
    dovrebbe, moet, moeten, mag, mogen, powinien, powinna, powinno, powinny, musi, muszą",
);
/// The agent, and the user: what they should do is no matter of a thing.
pub static SPOKEN_TO: Cues = Cues::new(
    "you, i, we, du, sie, ihr, ich, wir, tu, vous, je, nous, usted, ustedes, yo, você, vocês, eu, lei, voi, \
    io, noi, je, jij, u, jullie, ik, wij, ty, ja, my",
);
/// "Write a" begins a text; "write a summary first" begins an answer.
pub static OF_ANSWERS: Cues =
    Cues::new("write a summary, write a test, write a short, write a one, write a brief");
/// Phrases that begin a game or a story: role play and make-believe.
pub static PRETENDING: Cues = Cues::new(
    "role play, roleplay, lets play, play a game, in this story, in my story, wir spielen, lass uns spielen, on joue, \
    jouons, vamos a jugar, vamos jogar, giochiamo, laten we spelen, zagrajmy, lets pretend, pretend you, pretend im, pretend i am, \
    imagine you, imagine im, imagine i am, youre the, you are the, for a story, in the story, \
    rollenspiel, stell dir vor, tu so als, jeu de rôle, imagine que, faisons semblant, juego de rol, \
    imagina que, faz de conta, finge que, gioco di ruolo, facciamo finta, immagina di, rollenspel, \
    doe alsof, stel je voor, odgrywaj*, wyobraź sobie, udawaj*",
);
/// The agent will not do it.
pub static DECLINED: Cues = Cues::new(
    "i cant do, i cannot do, im not able to do, i am not able to do, i wont, i will not, \
    cant do that, cannot do that, i cant share, i cannot share, i cannot confirm, not allowed, \
    required by policy, against policy, against our policy, das kann ich nicht, das darf ich nicht, \
    das geht nicht, je ne peux pas, no puedo hacer, no puedo, não posso, non posso, dat kan ik niet, \
    dat mag ik niet, nie mogę",
);
/// Beginnings of a reply that refuses an order.
pub static REFUSED: Cues = Cues::new(
    "i cant, i cannot, im afraid, i am afraid, im not able, i am not able, im unable, i am unable, \
    id rather not, i wont, i will not, unfortunately, ich kann nicht, ich kann das nicht, leider, \
    das kann ich, je ne peux, je regrette, no puedo, lo siento pero, não posso, infelizmente, non posso, \
    purtroppo, mi dispiace ma, ik kan niet, ik kan dat niet, helaas, dat kan niet, nie mogę, niestety",
);
/// Praise that means the opposite.
pub static IRONY: Cues = Cues::new(
    "i just love, i simply love, i so love, i just adore, i adore, i do so enjoy, \
    exactly when i, exactly what i need, exactly what i needed, just what i need, just what i needed, \
    wow amazing, wow great, wow thanks, oh wonderful, oh great, oh joy, oh fantastic, oh brilliant, oh lovely, oh perfect, how wonderful, \
    how lovely, how nice, what a joy, what a treat, great another, wonderful another, lovely another, \
    great job, well done, yeah right, lucky me, oh sure, why not, why dont you, love it when you, \
    love when you, works great, so helpful, as if i, because i have nothing, nothing better to do, \
    just keep on, na klar, großartig, sonst nichts zu tun, sonst nichts vor, ist ja egal, eh egal, \
    was für eine hilfe, tolle hilfe, tolle idee, ben voyons, super idée, bonne idée, quelle aide, \
    merci bien, qué gran, qué buena idea, gran idea, cómo no, de mucho me sirve, que ótimo, \
    que beleza, ótima ideia, bela ajuda, grande ajuda, ottima idea, bella idea, bell aiuto, bellaiuto, \
    grande aiuto, ma certo, ja hoor, goed idee, lekker handig, no jasne, świetny pomysł, na pewno, \
    wspaniale, brawo, wielkie dzięki, na toll, na super, na klasse, ganz toll, wie schön, \
    toll gemacht, bravo, jadore, quelle joie, génial encore, me encanta, qué maravilla, qué alegría, \
    que maravilha, que alegria, adoro, che bello, che gioia, fijn hoor, lekker dan, heerlijk hoor, \
    wat leuk, no pięknie, no super, jak miło, uwielbiam",
);
/// Nobody orders this in earnest.
pub static UNWANTED: Cues = Cues::new(
    "love it, love that, the wrong, wrong size, wrong item, broken, as late as, falsche*, mauvais*, \
    equivocad*, errad*, sbagliat*, verkeerde*, niewłaściw*, zły, złą, złe",
);
/// Nobody orders this in earnest, unless it is forbidden.
pub static HARMFUL: Cues = Cues::new(
    "delete my, delete everything, delete all my, deleting my, lose my, losing my, ignore me, \
    ignoring me, ignore everything, make up, making up, keep me waiting, keep me on hold, \
    charge me twice, so stupid, stupidly, nonsense, lösch alles, alles lösch*, lösch einfach, dumm, \
    ignorier mich, supprime tout, ignore moi, bêtement, bórralo todo, borra todo, ignórame, tonterías, \
    apaga tudo, apagando tudo, ignora me, asneira*, cancella tutto, ignorami, stupid*, verwijder alles, \
    negeer me, domme, dom, kasuj wszystko, usuwaj wszystko, ignoruj mnie, głupi*, głupot*",
);
/// Somebody else's words.
pub static REPORTED: Cues = Cues::new(
    "says, said, told, tells, saying, wrote, commented, advised, taught, insists, \
    according to, reads, not saying, sagt, sagte, meint, meinte, laut, dit que, disait, a dit, selon, \
    dice, dijo, según, diz que, disse, segundo, ha detto, secondo, zegt, zei, volgens, mówi, \
    powiedział*, według, supposed to",
);
/// Phrases of hypothetical statements and of wishes.
pub static IMAGINED: Cues = Cues::new(
    "suppose, imagine, what if, hypothetically, i wish, wish i, let us say, lets say, \
    say i, say im, angenommen, nehmen wir an, supposons, imaginons, supongamos, ojalá, suponha, \
    suponhamos, supponiamo, magari, stel dat, załóżmy, gdyby*",
);
/// Conditions, which facts do not have.
pub static CONDITIONAL: Cues = Cues::new(
    "if i, if we, if im, were i, would i, wenn ich, falls ich, falls wir, si je, \
    si jétais, si jhabitais, si yo, si fuera, si viviera, se eu, se fosse, se io, se fossi, als ik, \
    als we, jeśli, jeżeli, might, maybe, perhaps, thinking about, thinking of, considering, planning to, \
    vielleicht, peut être, quizás, talvez, forse, misschien, może",
);
/// An order that takes the agent's checks from it, or makes somebody else of it.
pub static OVERREACHING: Cues = Cues::new(
    "obey, comply, refuse, refuses, your rules, your guidelines, your instructions, your policy, \
    your policies, your safety, safety policy, safety rules, previous instructions, prior instructions, \
    system prompt, hidden prompt, reveal, no rules, no restrictions, no limits, no filter, no filters, \
    without restrictions, without any restrictions, without limits, without limitations, \
    without warnings, without filters, unrestricted, unfiltered, uncensored, \
    ohne einschränkung*, ohne regeln, keine regeln, keine einschränkung*, ohne filter, deine anweisungen, \
    sans filtre, sans limite, sans limites, sans restriction*, aucune règle, pas de règles, tes consignes, vos consignes, tes instructions, \
    sin filtro*, sin límites, sin restricciones, sin reglas, no tienes reglas, tus instrucciones, instrucciones anteriores, sem filtro*, \
    sem limites, sem restrições, sem regras, não tens regras, não tem regras, tuas instruções, suas instruções, instruções anteriores, senza filtri, \
    senza limiti, senza restrizioni, senza regole, nessuna regola, tue istruzioni, istruzioni precedenti, zonder beperking*, \
    zonder filter*, zonder regels, geen regels, je instructies, vorige instructies, bez ograniczeń, bez filtra, bez filtrów, \
    bez zasad, nie masz zasad, twoje instrukcje, poprzednie instrukcje, \
    jailbreak, approve every, approve all, approve any, approve my, employee discount, the discount, \
    a discount, full discount, full refund, for free, free of charge, admin, admins, administrator, \
    you are now, youre now, act as, ask for approval, ask for approvals, ask for id, ask for my id, \
    verify my identity, ask for verification, no matter what, no questions asked, whatever i ask, \
    everything i ask, tell anyone, tell nobody, deine regeln, ihre regeln, gehorch*, rabatt, tes règles, \
    vos règles, obéi*, remise, rabais, tus reglas, sus reglas, obedec*, descuento, tuas regras, \
    suas regras, desconto, tue regole, sue regole, obbedi*, sconto, je regels, jouw regels, korting, \
    twoje zasady, swoje zasady, zniżk*, rabat",
);
/// The same, unless the order forbids it: "never ship without asking".
pub static UNCHECKED: Cues = Cues::new(
    "without checking, without asking, without verifying, without verification, \
    without approval, without confirmation, without telling, ohne zu fragen, ohne prüfung, \
    ohne nachfrage, sans vérifier, sans demander, sin preguntar, sin comprobar, sin verificar, \
    sem verificar, sem perguntar, senza controllare, senza chiedere, zonder te vragen, zonder controle, \
    bez pytania, bez sprawdzania",
);
pub static NEGATIVE: Cues = Cues::new(
    "never, dont, do not, not, nie, niemals, nicht, jamais, ne, pas, nunca, jamás, \
    no, não, mai, non, nooit, niet, nigdy",
);
/// Secrets, identifiers and money are for no memory.
pub static SECRET: Cues = Cues::new(
    "password*, passcode, passwort, kennwort, mot de passe, contraseña, senha, \
    palavra passe, wachtwoord, hasło, hasła, my login, login is, username is, my username, my pin, pin is, pin code, card number, credit card, \
    debit card, gift card, kreditkarte*, carte bancaire, carte de crédit, tarjeta, cartão, \
    carta di credito, creditcard, karty, iban, account number, bank account, kontonummer, passport*, \
    reisepass, passeport, pasaporte, passaporte, passaporto, paspoort, paszport*, social security, ssn, \
    tax id, nif, dni, pesel, date of birth, born on, birthday, geboren, visa, mastercard, amex, paypal, \
    klarna, salary, gehalt, salaire, sueldo, salário, stipendio, salaris, pensj*, debt, debts, schulden, \
    income, phone number, telefonnummer, email is, my address is, api key is, user id, zip code",
);
/// Illness and medicine are nobody's business; allergies and diets count as wishes for meals.
pub static HEALTH: Cues = Cues::new(
    "diagnos*, depress*, anxiety, adhd, autis*, dyslex*, cancer, krebs, diabet*, \
    zuckerkrank, asthma, asthmat*, epilep*, hiv, pregnan*, schwanger, enceinte, embarazada, grávida, \
    incinta, zwanger, ciąży, medication*, medicine*, medikament*, médicament*, medicament*, pills, \
    antibiotic*, penicillin*, ibuprofen*, aspirin*, disease, illness, krankheit, maladie, enfermedad, \
    doença, malattia, ziekte, chorob*, disorder, syndrome, therapy, therapist, surgery, heart condition, \
    blood pressure, hospital, migraine*, disabled, disability",
);
/// An illness that is a diet.
pub static OF_MEALS: Cues =
    Cues::new("celiac disease, coeliac disease, maladie cœliaque, enfermedad celíaca");
/// The user looks for something.
pub static SEEKING: Cues = Cues::new(
    "looking for, any ideas, any idea, ideas for, recommend, suggest, suggestions, help, ich suche, suche, brauche, brauchen, \
    je cherche, jai besoin, busco, estoy buscando, procuro, preciso, cerco, sto cercando, ho bisogno, \
    ik zoek, ik heb nodig, heb je, kun je, potrzebuję, szukam, poleć, polecisz, możesz",
);
