//! Words for what people are, have and live with, all languages together. Phrases stand between commas; `*` continues
//! a word.

use crate::offline::words::Cues;

/// Beginnings behind which a profession is a fact.
pub static BEING: Cues = Cues::new(
    "i am, i have been, i am working as, ich bin, je suis, soy, sou, sono, faccio, ik ben, jestem",
);
/// Beginnings of what somebody does for a living or studies.
pub static WORKING_AS: Cues = Cues::new(
    "i work as, i teach, i study, i am studying, i volunteer as, ich arbeite als, ich studiere, \
    ich unterrichte, je travaille comme, je travaille en tant que, jétudie, jenseigne, trabajo como, \
    trabajo de, estudio, enseño, trabalho como, estudo, ensino, dou aulas, lavoro come, faccio il, \
    faccio la, studio, insegno, ik werk als, ik studeer, pracuję jako, studiuję, uczę",
);
pub static PROFESSIONS: Cues = Cues::new(
    "teacher, tutor, nurse, doctor, physician, surgeon, lawyer, paralegal, solicitor, engineer, developer, \
    programmer, designer, student, undergraduate, accountant, bookkeeper, electrician, plumber, carpenter, \
    chef, baker, farmer, pilot, architect, journalist, photographer, translator, interpreter, researcher, \
    scientist, professor, lecturer, librarian, pharmacist, dentist, vet, veterinarian, midwife, \
    paramedic, firefighter, consultant, freelancer, freelance, mechanic, hairdresser, musician, economist, \
    analyst, sysadmin, retired, retiree, pensioner, landlord, electrician, welder, gardener, caterer, \
    lehrer*, krankenschwester, krankenpfleger*, altenpfleger*, arzt, ärztin, anwalt, anwältin, \
    ingenieur*, entwickler*, programmierer*, student*, buchhalter*, elektriker*, koch, köchin, bäcker*, \
    landwirt*, architekt*, journalist*, fotograf*, übersetzer*, apotheker*, hebamme, friseur*, tischler*, \
    schreiner*, rentner*, freiberufler*, freiberuflich, selbstständig, handwerker*, erzieher*, \
    sozialarbeiter*, mechaniker*, prof, professeur*, enseignant*, infirmi*, médecin, avocat*, ingénieur*, \
    développeu*, programmeu*, étudiant*, comptable, électricien*, plombier*, menuisi*, cuisini*, \
    boulang*, agricult*, architecte, journaliste, photographe, traduct*, chercheu*, pharmacien*, \
    dentiste, vétérinaire, pompier, graphiste, coiffeu*, musicien*, retraité*, instituteur, institutrice, \
    profesor*, maestr*, enfermer*, médic*, abogad*, ingenier*, desarrollador*, programador*, estudiante, \
    contador*, contable, electricista, fontaner*, carpinter*, cociner*, panader*, agricultor*, \
    arquitect*, periodista, fotógraf*, traductor*, investigador*, farmacéutic*, veterinari*, bomber*, \
    diseñador*, peluquer*, músic*, jubilad*, autónom*, enfermeir*, advogad*, engenheir*, desenvolvedor*, \
    estudante, contabilista, eletricista, canalizador*, encanador*, carpinteir*, cozinheir*, padeir*, \
    arquitet*, jornalista, tradutor*, pesquisador*, farmacêutic*, veterinári*, bombeir*, cabeleireir*, \
    reformad*, aposentad*, autônom*, insegnante, infermier*, medico, dottoressa, avvocat*, ingegner*, \
    sviluppat*, programmat*, studente, studentessa, contabile, commercialista, elettricista, idraulic*, \
    falegname, cuoc*, panettier*, agricolt*, architett*, giornalista, traduttor*, traduttrice, \
    ricercat*, farmacista, pompiere, grafic*, parrucchier*, musicista, pensionat*, leraar, lerares, \
    docent*, verpleegkundige, verpleger, verpleegster, arts, dokter, advocaat, ontwikkelaar, programmeur, \
    boekhouder, elektricien, loodgieter, timmerman, kok, bakker, boer, boerin, vertaler, onderzoeker, \
    tandarts, dierenarts, verloskundige, brandweerman, ontwerper, kapper, kapster, muzikant, \
    gepensioneerd*, nauczyciel*, pielęgniar*, lekar*, prawni*, inżynier*, programist*, księgow*, \
    elektryki*, hydrauliki*, stolarz*, kuchar*, piekarz*, rolniki*, dziennikar*, tłumacz*, naukow*, \
    farmaceut*, dentyst*, weterynarz*, położn*, strażaki*, fryzjer*, muzyki*, emeryt*",
);
/// Before a profession these deny it, or make it somebody else's.
pub static NOT_ONES_OWN: Cues = Cues::new(
    "not, no, never, the, your, my, his, her, their, to, at, in, with, for, from, by, on, of, just, such, like, \
    looking, seeing, calling, waiting, nicht, kein, keine, der, die, dein, deine, mein, meine, bei, mit, \
    im, zum, beim, pas, le, la, chez, avec, au, à, no, el, tu, mi, con, en, não, o, a, com, no, na, \
    non, il, al, dal, niet, geen, de, het, bij, met, nie, u, z, w, na",
);

/// Beginnings behind which a business is a fact.
pub static RUNNING: Cues = Cues::new(
    "i run, we run, i own, we own, i have, we are, we have, ich betreibe, ich führe, ich habe, \
    wir betreiben, wir führen, wir sind, je tiens, je gère, jai, nous tenons, nous sommes, tengo, tenemos, \
    llevo, somos, tenho, temos, ho, gestisco, abbiamo, siamo, ik run, ik heb, wij runnen, we runnen, \
    wij zijn, we zijn, prowadzę, prowadzimy, jesteśmy",
);
pub static BUSINESSES: Cues = Cues::new(
    "bakery, shop, store, restaurant, cafe, café, salon, studio, agency, startup, farm, brewery, \
    guesthouse, clinic, practice, nonprofit, charity, office, household, family of, family with, \
    law firm, bäckerei, laden, agentur, firma, praxis, bauernhof, betrieb, café, familie, verein, \
    boulangerie, boutique, agence, cabinet, ferme, famille, association, panadería, tienda, restaurante, \
    agencia, granja, clínica, familia, padaria, loja, agência, quinta, fazenda, família, panetteria, \
    panificio, negozio, ristorante, agenzia, fattoria, studio, famiglia, bakkerij, winkel, bureau, \
    boerderij, praktijk, gezin, piekarnię, sklep, restaurację, kawiarnię, agencję, firmę, \
    gospodarstwo, rodziną",
);

/// Beginnings behind which children and animals are a fact.
pub static HAVING: Cues = Cues::new(
    "i have, we have, my wife and i have, my husband and i have, my partner and i have, \
    ich habe, wir haben, jai, nous avons, on, tengo, tenemos, tenho, temos, ho, abbiamo, ik heb, we hebben, \
    wij hebben, mam, mamy",
);
pub static DEPENDANTS: Cues = Cues::new(
    "kid, kids, child, children, son, sons, daughter, daughters, twins, girls, boys, baby, toddler, \
    toddlers, dog, dogs, cat, cats, puppy, horse, horses, kind, kinder, kindern, sohn, söhne, tochter, \
    töchter, zwillinge, hund, hunde, katze, katzen, enfant, enfants, fils, fille, filles, jumeaux, \
    chien, chiens, chat, chats, hijo, hijos, hija, hijas, niños, gemelos, perro, perros, gato, gatos, \
    filho, filhos, filha, filhas, gémeos, gêmeos, cão, cães, cachorro, cachorros, figlio, figli, figlia, \
    figlie, bambini, bambino, gemelli, cane, cani, gatto, gatti, kinderen, zoon, dochter, dochters, \
    tweeling, hond, honden, kat, katten, dzieci, dziecko, syna, synów, córkę, córki, psa, psy, kota, koty",
);
/// May stand behind them; anything else makes a thing of it, like food for cats.
pub static BEHIND_DEPENDANTS: Cues = Cues::new(
    "aged, who, that, under, and, of, in, at, with, both, too, und, im, von, die, der, de, et, qui, à, y, que, \
    e, em, di, che, en, van, i, w",
);

/// Beginnings behind which a place is a fact, also in small letters.
pub static LIVING: Cues = Cues::new(
    "i live in, we live in, i am based in, we are based in, i moved to, we moved to, ich wohne in, \
    ich lebe in, wir wohnen in, wir leben in, jhabite à, jhabite, je vis à, nous habitons à, vivo en, \
    vivimos en, moro em, moro no, moro na, moramos em, vivo em, vivo no, vivo na, vivo a, abito a, \
    abito in, abitiamo a, ik woon in, we wonen in, wij wonen in, mieszkam w, mieszkam we, mieszkamy w",
);
/// In small letters these are no names of places.
pub static NO_PLACES: Cues = Cues::new(
    "the, my, our, your, this, that, small, big, large, tiny, nice, different, same, another, hotel, \
    apartment, flat, house, town, city, village, country, countryside, room, rural, remote, downtown, \
    student, area, fear, hope, peace, hell, past, place, places, one, two, new, old, kleinen, kleiner, \
    großen, einer, einem, der, dem, den, miete, angst, campagne, ville, banlieue, appartement, maison, \
    casa, piso, pueblo, ciudad, campo, apartamento, cidade, centro, campagna, città, appartamento, paese, \
    huis, stad, dorp, flat, mieście, domu, mieszkaniu, bloku, wsi, centrum, na, na wsi, com, con, con mi, \
    sola, solo, sozinho, sozinha, lejos, cerca, longe, perto, près, loin, avec, seul, seule",
);

/// Beginnings behind which something to eat or drink is a fact.
pub static ABSTAINING: Cues = Cues::new(
    "i can not have, i can not do, i avoid, i stay away from, ich meide, jévite, je ne supporte pas, evito, \
    no puedo comer, não posso comer, non posso mangiare, ik vermijd, unikam, nie mogę jeść",
);
pub static FOODS: Cues = Cues::new(
    "gluten, dairy, lactose, nuts, peanuts, eggs, egg, soy, soya, shellfish, fish, meat, pork, beef, sugar, \
    alcohol, caffeine, coffee, milk, wheat, seafood, laktose, nüsse, eier, milch, fleisch, fisch, zucker, \
    alkohol, koffein, kaffee, lait, café, alcool, viande, sucre, lactosa, leche, huevos, azúcar, carne, \
    leite, ovos, açúcar, lattosio, latte, uova, zucchero, alcol, lactose, melk, suiker, vlees, noten, \
    laktozy, glutenu, mleka, cukru, mięsa, kawy, alkoholu",
);
