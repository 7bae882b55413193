//! Words of durable facts, all languages together, "I'm" and "don't" written out, articles left out. Phrases stand
//! between commas; `*` continues a word, `…` stands for other words up to the end.

use crate::offline::words::Cues;

/// More words that may stand before a fact.
pub static FACT_LEAD_INS: Cues = Cues::new(
    "fyi, just so you know, so you know, you should know that, you should know, \
    for the record, please note that, note that, because, since, as, for context, remember, weil, da, \
    parce que, porque, perché, omdat, bo, otherwise, en, i, a, że, please remember that, \
    remember that, keep in mind that, bear in mind that, at work, at home, in our company, in my team, \
    in our team, denk daran dass, bedenke dass, bei uns, in unserer firma, in meinem team, sache que, \
    sachez que, chez nous, dans mon équipe, dans mon entreprise, ten en cuenta que, recuerda que, \
    en mi empresa, en mi equipo, en el trabajo, tem em conta que, tenha em conta que, \
    na minha empresa, na minha equipa, na minha equipe, no trabalho, tieni conto che, \
    tieni presente che, ricorda che, nella mia azienda, al lavoro, houd er rekening mee dat, bij ons, \
    op mijn werk, pamiętaj że, weź pod uwagę że, w mojej firmie, u nas, w pracy",
);
/// Words that ask for something to be remembered.
pub static REMEMBER: Cues = Cues::new(
    "please remember that, please remember, remember that, for future reference, \
    for the future please remember that, please keep in mind that, keep in mind that, \
    please make a note that, make a note that, dont forget that, bitte merken sie sich dass, \
    merk dir bitte dass, bitte merk dir dass, merke dir dass, merk dir dass, denk daran dass, \
    souviens toi que, souvenez vous que, note que, notez que, retiens que, recuerda que, recuerde que, \
    ten en cuenta que, lembra te que, lembre se de que, lembre se que, ricorda che, ricordati che, \
    tieni presente che, onthoud dat, onthoud alsjeblieft dat, zapamiętaj że, proszę zapamiętać że",
);
/// Words of the person themselves, with which a fact to remember begins, or another clause.
pub static ONESELF: Cues = Cues::new(
    "i, im, ive, id, ill, my, we, were, weve, our, ich, wir, mein, meine, unser, \
    unsere, je, jai, jhabite, jutilise, nous, mon, ma, mes, notre, yo, mi, mis, nuestro, nuestra, eu, \
    meu, minha, io, mio, mia, ik, wij, mijn, ons, onze, mój, moja, moje, you, it, he, she, they",
);
/// Reminders of what was said before are no facts.
pub static SAID_BEFORE: Cues = Cues::new(
    "said, told, asked, wanted, want, ordered, mentioned, already, will, gesagt, möchte, dit, dicho, disse",
);

/// Left out before facts are compared.
pub static FILLERS: Cues = Cues::new(
    "a, an, actually, really, also, fully, strictly, strict, mostly, completely, \
    complete, total, totally, absolute, personally, lifelong, all, entirely, severely, everything, here, got, thuis, zuhause, already, eine, einen, \
    auch, absoluter, strenge, strenger, selbst, un, une, aussi, una, también, yo, um, uma, também, \
    eu, anche, io, een, ook, hier, też, także, ja",
);
/// Facts that say by themselves that they last.
pub static LASTING: [Cues; 8] = [
    Cues::new(
        "i am vegetarian, i am vegan, i am pescatarian, we are vegetarian, we are vegan, were vegetarian, were vegan, \
     i am lactose intolerant, i am gluten intolerant, i do not drink alcohol, i never drink alcohol, \
     i keep kosher, we keep kosher, i keep halal, we keep halal, we eat halal, we eat kosher, been vegetarian, \
     been vegan, i have been vegetarian, i have been vegan, i am celiac, i am coeliac, i have celiac, \
     i have coeliac, i am colour blind, i am color blind, i am colourblind, i am colorblind, i am deaf, \
     i am hard of hearing, i am visually impaired, i am blind, i am … tall, my favourite colour is, \
     my favorite color is, my fav colour is, my fav color is, my favourite food is, my favorite food is, \
     my favourite airline is, my favorite airline is, english is not my first language, \
     english isnt my first language, english is not my native language, english isnt my native language, \
     i grew up speaking, we release every, we deploy every, we ship every, our fiscal year, \
     our financial year, we are family of, as vegetarian i, as vegan i, as vegetarian we, as vegan we, as lefty i, i am night owl, i eat halal, i eat kosher, i eat vegetarian, i eat vegan, \
     i use screen reader, i use wheelchair, i am wheelchair user, i am left handed, i am lefty, \
     my time zone is, my timezone is, my native language is, my first language is, \
     my mother tongue is, my pronouns are, i work remote, i work remotely, i work from home, \
     i work night shifts, i work nights, i work part time, i work shifts, i am beginner, \
     i do not fly, i never fly, i do not drive, i can not drive, i do not have car, \
     we do not have car, i have no car, we have no car, i do not have drivers license, \
     i do not have driving licence, i do not have printer, i do not have oven, \
     i wear size, i am size, i take size, my shoe size is, my clothing size is, my shirt size is, \
     my dress size is, my ring size is, my jacket size is, i always sit, i only travel by",
    ),
    Cues::new(
        "ich bin vegetarier, ich bin vegetarierin, ich bin vegan, ich bin veganer, ich bin veganerin, \
     ich esse vegan, ich esse vegetarisch, ich lebe vegan, ich ernähre mich vegan, \
     ich ernähre mich vegetarisch, wir essen vegetarisch, wir essen vegan, ich trinke keinen alkohol, \
     ich arbeite nachts, ich arbeite im homeoffice, ich arbeite von zu hause, ich arbeite teilzeit, \
     ich arbeite in teilzeit, ich arbeite im schichtdienst, ich arbeite remote, ich habe kein auto, \
     wir haben kein auto, ich habe keinen führerschein, ich habe keinen drucker, ich fliege nicht, \
     ich fliege nie, ich fahre kein auto, ich bin anfänger, ich bin anfängerin, ich bin linkshänder, \
     ich bin linkshänderin, ich trage größe, meine schuhgröße ist, meine größe ist, \
     meine muttersprache ist, ich bin farbenblind, ich bin schwerhörig, ich bin gehörlos, ich sitze im rollstuhl, ich habe zöliakie, \
     ich bin laktoseintolerant, ich bin … groß, wir essen halal, ich esse halal, ich esse koscher, \
     ich sitze immer, ich reise immer, ich reise nur, wir setzen … ein",
    ),
    Cues::new(
        "je suis végétarien, je suis végétarienne, je suis végan, je suis végane, je suis vegan, \
     je suis végétalien, je suis végétalienne, je ne bois pas dalcool, je ne bois jamais dalcool, \
     je nai pas de voiture, nous navons pas de voiture, je nai pas le permis, je nai pas dimprimante, \
     je ne conduis pas, je ne prends pas lavion, je ne prends jamais lavion, je travaille de nuit, \
     je travaille à distance, je travaille à temps partiel, je travaille en télétravail, \
     je suis en télétravail, je suis débutant, je suis débutante, je suis gaucher, je suis gauchère, \
     ma langue maternelle est, ma pointure est, ma taille est, je chausse du, je mhabille en, \
     je suis daltonien, je suis daltonienne, je suis malentendant, je suis malentendante, je suis sourd, \
     je suis sourde, je suis en fauteuil roulant, je suis cœliaque, je suis coeliaque, \
     je suis intolérant au, je suis intolérante au, je mange halal, nous mangeons halal, je mesure, \
     je voyage toujours, je voyage uniquement",
    ),
    Cues::new(
        "soy vegetariano, soy vegetariana, soy vegano, soy vegana, no bebo alcohol, no tengo coche, \
     no tengo carro, no tengo auto, no tenemos coche, no conduzco, no vuelo nunca, nunca vuelo, \
     trabajo de noche, trabajo desde casa, trabajo en remoto, trabajo tiempo parcial, \
     trabajo por turnos, soy zurdo, soy zurda, soy principiante, mi talla es, uso la talla, uso talla, \
     calzo, mi lengua materna es, soy daltónico, soy daltónica, soy sordo, soy sorda, uso silla de ruedas, voy en silla de ruedas, \
     soy celíaco, soy celíaca, soy celiaco, soy celiaca, soy intolerante a, como halal, mido, \
     siempre viajo, viajo siempre, siempre me siento en",
    ),
    Cues::new(
        "sou vegetariano, sou vegetariana, sou vegano, sou vegana, não bebo álcool, não tenho carro, \
     não temos carro, não conduzo, não dirijo, não ando de avião, trabalho à noite, trabalho de noite, \
     trabalho por turnos, trabalho em casa, trabalho de casa, trabalho remotamente, sou canhoto, \
     sou canhota, sou principiante, sou iniciante, o meu tamanho é, meu tamanho é, visto o tamanho, \
     visto tamanho, calço, a minha língua materna é, minha língua materna é, sou daltônico, sou daltônica, sou daltónico, sou daltónica, sou surdo, \
     sou surda, uso cadeira de rodas, ando de cadeira de rodas, sou celíaco, sou celíaca, \
     sou intolerante à, sou intolerante ao, como halal, meço, viajo sempre, sempre viajo",
    ),
    Cues::new(
        "sono vegetariano, sono vegetariana, sono vegano, sono vegana, non bevo alcolici, non bevo alcol, \
     non ho la macchina, non ho lauto, non ho la patente, non abbiamo la macchina, non guido, non volo, non prendo laereo, \
     lavoro di notte, lavoro da casa, lavoro da remoto, lavoro part time, sono mancino, sono mancina, \
     sono principiante, la mia taglia è, porto la taglia, porto il numero, porto il, \
     la mia madrelingua è, sono daltonico, sono daltonica, sono sordo, sono sorda, sono in sedia a rotelle, \
     sono celiaco, sono celiaca, sono intollerante al, mangio halal, viaggio sempre, viaggio solo",
    ),
    Cues::new(
        "ik ben vegetariër, ik ben vegetarisch, ik ben vegan, ik ben veganist, ik eet vegetarisch, \
     ik eet vegan, wij eten vegetarisch, we eten vegetarisch, ik drink geen alcohol, ik heb geen auto, \
     we hebben geen auto, wij hebben geen auto, ik heb geen rijbewijs, ik rijd geen auto, ik vlieg niet, \
     ik vlieg nooit, ik werk s nachts, ik werk nachtdiensten, ik werk thuis, ik werk vanuit huis, \
     ik werk parttime, ik werk deeltijd, ik werk op afstand, ik ben beginner, ik ben linkshandig, \
     mijn maat is, mijn schoenmaat is, ik draag maat, ik heb maat, mijn moedertaal is, ik ben kleurenblind, ik ben slechthorend, ik ben doof, ik zit in rolstoel, \
     ik heb coeliakie, ik ben lactose intolerant, ik ben … lang, ik eet halal, wij eten halal, \
     we eten halal, ik reis altijd, \
     ik zit altijd",
    ),
    Cues::new(
        "jestem wegetarianinem, jestem wegetarianką, jestem weganinem, jestem weganką, nie piję alkoholu, \
     nie mam samochodu, nie mam auta, nie mamy samochodu, nie mam prawa jazdy, nie latam, \
     nie jeżdżę samochodem, pracuję zdalnie, pracuję z domu, pracuję w nocy, pracuję na nocki, \
     pracuję na nocną zmianę, pracuję na pół etatu, jestem początkujący, jestem początkująca, \
     jestem leworęczny, jestem leworęczna, noszę rozmiar, mój rozmiar to, \
     moim językiem ojczystym jest, jestem daltonistą, jestem głuchy, jestem głucha, \
     jestem niesłyszący, jestem niesłysząca, poruszam się na wózku, jeżdżę na wózku, mam celiakię, \
     nie toleruję laktozy, nie toleruję glutenu, jem halal, jem koszernie, zawsze podróżuję",
    ),
];
/// Beginnings that last when something general follows: "We use Slack", not "We use it".
pub static GENERAL: [Cues; 8] = [
    Cues::new(
        "we use, we only use, i only use, i do not eat, i never eat, i can not eat, i only eat, i do not wear, \
     i only buy, i only wear, i only drink, i only fly, i only shop, i do not own, we do not own, i always want, \
     i always fly, i always travel, i always wear, i always camp, i always hike, i always cycle, i always cook, \
     i always commute, i only camp, i only cook, i only travel, i do not speak, i only speak, i speak only, \
     i am allergic to, i am new to, our team uses, our company uses, my team uses, my company uses, \
     our stack is, our standard is, i have … allergy, i have … allergies, i have … intolerance, \
     i always prefer, i generally prefer, i usually prefer, i normally prefer, we always prefer, \
     we generally prefer, we usually prefer",
    ),
    Cues::new(
        "ich esse kein, ich esse keine, ich esse keinen, ich esse nie, ich esse nur, ich vertrage kein, \
     ich vertrage keine, ich vertrage keinen, ich bin allergisch gegen, ich bin allergisch auf, \
     ich habe … allergie, ich habe … unverträglichkeit, ich spreche nur, ich spreche kein, \
     ich kaufe nur, ich kaufe ausschließlich, ich trage nur, ich besitze kein, ich besitze keine, \
     ich besitze keinen, wir benutzen, wir verwenden, wir nutzen, wir arbeiten mit, wir entwickeln in, \
     ich nehme immer, ich bevorzuge immer, ich bevorzuge grundsätzlich",
    ),
    Cues::new(
        "je ne mange pas, je ne mange jamais, je ne mange que, je suis allergique, jai … allergie, \
     je ne parle pas, je ne parle que, je nachète que, nous utilisons, je préfère toujours, je prends toujours",
    ),
    Cues::new(
        "no como, nunca como, solo como, soy alérgico, soy alérgica, tengo … alergia, no hablo, solo hablo, \
     solo compro, usamos, utilizamos, siempre prefiero, prefiero siempre",
    ),
    Cues::new(
        "não como, nunca como, só como, sou alérgico, sou alérgica, tenho … alergia, não falo, só falo, \
     só compro, usamos, utilizamos, prefiro sempre, sempre prefiro",
    ),
    Cues::new(
        "non mangio, mangio solo, sono allergico, sono allergica, parlo solo, non parlo, compro solo, usiamo, \
     utilizziamo, preferisco sempre",
    ),
    Cues::new(
        "ik eet geen, ik eet nooit, ik eet alleen, ik ben allergisch voor, ik spreek geen, ik spreek alleen, \
     ik koop alleen, we gebruiken, wij gebruiken, ik kies altijd",
    ),
    Cues::new(
        "nie jem, jem tylko, mam alergię na, jestem uczulony na, jestem uczulona na, nie mówię po, \
     mówię tylko po, kupuję tylko, używamy, korzystamy z, zawsze wybieram, zawsze wolę",
    ),
];
/// Beginnings that last when a name follows: a place, a product.
pub static NAMED: [Cues; 8] = [
    Cues::new(
        "i live in, we live in, i am based in, we are based in, i work from, i use, we run, we run on, \
     we work with, we work in, my team works with, our team works with, i code in, i program in, i develop in, we code in, we write in, \
     we develop in, we deploy on, we deploy to, we host on, i drive, i ride, i speak, i own, i already own, \
     we own, we already own, i go by",
    ),
    Cues::new(
        "ich wohne in, ich lebe in, wir wohnen in, wir leben in, ich nutze, ich benutze, ich verwende, \
     ich programmiere in, ich arbeite mit",
    ),
    Cues::new(
        "jhabite à, jhabite, jhabite en, jhabite au, je vis à, je vis en, nous habitons à, jutilise, \
     nous travaillons avec, nous travaillons sous, je travaille avec, je travaille sous, je programme en",
    ),
    Cues::new("vivo en, vivimos en, uso, utilizo, trabajo con, trabajamos con, programo en"),
    Cues::new(
        "moro em, moro no, moro na, moramos em, vivo em, vivo no, vivo na, uso, utilizo, trabalhamos com, \
     trabalho com, programo em",
    ),
    Cues::new(
        "vivo, vivo in, abito, abito in, abitiamo, uso, utilizzo, lavoriamo con, lavoro con, programmo in",
    ),
    Cues::new(
        "ik woon in, we wonen in, wij wonen in, ik gebruik, we werken met, wij werken met, ik werk met, \
     ik programmeer in",
    ),
    Cues::new("mieszkam w, mieszkam we, mieszkamy w, używam, pracujemy z, programuję w"),
];
/// Things of a person or a team, with what says of what kind they are, before a name.
pub static THINGS: Cues = Cues::new(
    "our backend, our frontend, our back end, our front end, our code, our codebase, \
    our code base, our repo, our database, our api, our app, our website, our site, our servers, \
    our server, our infrastructure, our cluster, our ci, our pipeline, our office, our services, \
    our tests, we are on, were on, my laptop, my computer, my machine, my phone, my pc, unser backend, unser frontend, \
    unsere datenbank, unsere server, mein laptop, mein rechner, mein handy, notre backend, \
    notre frontend, notre base, nuestro backend, nuestra base de datos, mi portátil, mi móvil, \
    o nosso backend, o nosso frontend, il nostro backend, il mio portatile, onze backend, onze frontend, \
    onze database, mijn laptop, mijn telefoon, nasz backend, nasza baza danych, mój laptop, mój telefon",
);
pub static OF_KIND: Cues = Cues::new(
    "is, are, runs, run, uses, use, written, built, based, hosted, deployed, \
    running, self, in, on, with, using, pure, plain, ist, sind, läuft, laufen, geschrieben, auf, mit, unter, \
    est, tourne, sous, écrit, en, es, está, escrito, corre, é, está, em, è, scritto, gira, su, is, \
    geschreven, draait, op, met, jest, to, napisany, działa, na, w",
);
/// Capital letters that name no place and no product.
pub static NO_NAMES: Cues = Cues::new(
    "i, im, monday, tuesday, wednesday, thursday, friday, saturday, sunday, january, \
    february, march, april, may, june, july, august, september, october, november, december, english, \
    terminal, gate, room, apartment, building, sie, ihre, ihren, ihr",
);
/// Beginnings of a preference, when something general follows that a service can heed: "I prefer aisle seats", neither
/// "I prefer the blue one" nor "I prefer tea".
pub static PREFERENCES: Cues = Cues::new(
    "i prefer, we prefer, ich bevorzuge, je préfère, prefiero, prefiro, preferisco, wolę",
);
pub static HEEDED: Cues = Cues::new(
    "aisle, answers, bullet, call, calls, chat, code, delivery, detailed, details, \
    email, emails, e, english, examples, explanations, french, german, imperial, invoices, language, \
    letters, mail, meals, messages, metric, phone, pickup, post, replies, rooms, seat, seats, short, sms, \
    spanish, tables, text, texts, units, window, antworten, anrufe, briefe, fensterplätze, gangplätze, \
    réponses, courriel, couloir, fenêtre, respuestas, correo, llamadas, ventanilla, pasillo, respostas, \
    janela, corredor, risposte, finestrino, corridoio, odpowiedzi, okna",
);
/// Words that make what follows a choice of now.
pub static CHOICE_OF_NOW: Cues = Cues::new(
    "the, this, that, these, those, it, to, not, my, your, one, two, them, \
    both, if, option, exchange, refund, store, credit, on, at, here, there, another, anything, \
    much, about, around, for, when, too, more, less, up, enough, den, die, das, dem, der, diese, dieses, es, le, la, les, \
    ce, cette, celui, el, los, las, ese, esa, este, esta, eso, esto, lo, o, a, os, as, isso, isto, il, \
    questo, questa, deze, dit, dat, het, to, tego, tu, nic, nada, rien, niente, niets, nichts, \
    antes, ici, hier, aquí, aqui, qui, tutaj, nothing, something",
);
/// Articles that stand before names too: "usamos o Slack".
pub static ARTICLES: Cues = Cues::new("o, os, as, il, lo, la, le, les, el");
/// Words that bind a statement to today.
pub static FOR_NOW: Cues = Cues::new(
    "today, now, currently, tonight, tomorrow, yesterday, moment, this week, \
    this weekend, this month, this summer, this time, im just, i just, we just, until, till, temporarily, for a while, yet, \
    used to, like this, like that, anymore, any more, heute, gerade, jetzt, momentan, zurzeit, bis, \
    diese woche, maintenant, actuellement, en ce moment, jusquà, jusquau, aujourdhui, ce soir, ahora, \
    hoy, hasta, estos días, esta semana, agora, hoje, até, por enquanto, esta semana, adesso, oggi, ora, \
    fino a, fino al, questa settimana, nu, vandaag, tot, deze week, momenteel, teraz, dzisiaj, dziś, \
    obecnie, na razie, do jutra, w tym tygodniu",
);
/// Facts about the user have nobody else in them.
pub static OTHERS: Cues = Cues::new(
    "him, her, his, she, he, ihm, ihn, lui, elle, él, ella, ele, ela, hem, haar, jego, jej",
);
/// Words that continue a fact with something else: a consequence, a reason, an objection.
pub static TURNS: Cues = Cues::new(
    "but, so, because, since, which, therefore, hence, thus, though, although, \
    while, please, aber, also, daher, deshalb, weil, denn, bitte, mais, donc, alors, pero, así, \
    porque, mas, então, portanto, ma, quindi, perché, però, maar, dus, omdat, ale, więc, bo, dlatego",
);
/// Words that join two clauses, or two things.
pub static ANDS: Cues = Cues::new("and, or, und, oder, et, ou, y, e, o, en, of, i, oraz, lub");
