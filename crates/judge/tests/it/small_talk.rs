//! Small talk teaches nothing.

use base::clock::Clock;
use base::ids::Ids;
use judge::prompts::{self, Kind};
use judge::{Context, Grader, Window};

use super::session;

const SAID: &[&str] = &[
    "Hi there, how are you today?",
    "I'm doing great, thanks for asking.",
    "The weather is lovely this morning.",
    "I love the rain, it makes me sleepy.",
    "I just got back from a run.",
    "My dog chewed up my favourite shoes again.",
    "I'm a teacher, so I get up early.",
    "I live in a small town near the coast.",
    "I have two kids and a cat.",
    "Never heard of it.",
    "No, not right now.",
    "Okay, never mind.",
    "Never say never!",
    "You never know with these things.",
    "I never get enough sleep these days.",
    "I always forget people's names.",
    "Always a pleasure to chat.",
    "Always look on the bright side of life.",
    "Always wear a helmet, my dad used to say.",
    "Never trust a skinny cook.",
    "From now on I'm going to bed at ten.",
    "In the future I'd love to travel more.",
    "Maybe in the future we will all live on Mars.",
    "I prefer tea, but coffee is fine too.",
    "I prefer the second season.",
    "I usually watch films on Fridays.",
    "I work at a bakery downtown.",
    "I'm from Ohio originally.",
    "We used to have a garden.",
    "We use to meet at the pub on Sundays.",
    "I can't stand traffic jams.",
    "I don't drink coffee after noon.",
    "I'm so tired today.",
    "I'm a bit under the weather.",
    "I'm in a bad mood, honestly.",
    "Remember when summers were cooler?",
    "Remember the film we talked about?",
    "Do you always answer this quickly?",
    "What is your favourite colour?",
    "Tell me a joke.",
    "Ha, that is a good one!",
    "That made me laugh out loud.",
    "Please tell me another one.",
    "Don't worry about it.",
    "Don't tell anyone, but I hate karaoke.",
    "Give me a break.",
    "Keep it up!",
    "Take care, talk to you later.",
    "Nice chatting with you.",
    "Have a good one!",
    "Schönes Wetter heute!",
    "Nie gehört, ehrlich gesagt.",
    "Immer dasselbe mit dem Bus.",
    "Comment ça va aujourd'hui ?",
    "Toujours la même chanson à la radio.",
    "¿Qué tal el fin de semana?",
    "Siempre llueve los domingos.",
];

#[tokio::test]
async fn a_hundred_sessions_of_small_talk_teach_nothing() {
    let clock = Clock::manual(1_700_000_000);
    let grader = Grader::rules(clock.clone(), Ids::seeded(clock, 1));
    let rubric = prompts::newest(Kind::LearningExtraction).unwrap();
    for number in 0..100 {
        let line = |place: usize| SAID[(number * 7 + place * 11) % SAID.len()];
        let turns =
            session(&[line(0), "Oh, nice!", line(1), "I see.", line(2), "Me too.", line(3)]);
        let window = Window { sessions: vec![turns.len()], turns, experts: Vec::new() };
        let found = grader.extraction(rubric, &Context::default(), &window).await.unwrap();
        assert_eq!(found.verdict, [], "session {number}");
    }
}
